// Details of a ResourceClaim. Headlamp has no page of its own for this kind, so links to claims lead here; the section
// of devices is the one that is registered for all pages of claims.

import { DetailsGrid, Loader } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { useParams } from 'react-router-dom';
import { Problem } from './parts';
import { useServed } from './served';
import { useOneCluster } from './world';

export default function Claim() {
  const { namespace, name } = useParams<{ namespace: string; name: string }>();
  const { cluster } = useOneCluster();
  const served = useServed(cluster);
  if (!served) return <Loader title="Reading what the cluster serves" />;
  if (served.problem) return <Problem text={served.problem} />;
  return (
    <DetailsGrid
      resourceType={served.classes.resourceclaims}
      {...{ name, namespace, cluster }}
      backLink=""
      withEvents
    />
  );
}
