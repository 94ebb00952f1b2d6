#!/usr/bin/env bash
# In a transaction of etcd every comparison of the value of a key that is not there fails, "is not x" as well as "is x" and "is empty"; only revisions and
# versions (0) can be compared. A lock that writes when "the holder is not me" never starts on an empty store.
. "$(dirname "$0")/common.sh"
guess 'an absent key compares as an empty value, so value("holder") != "a" holds'
debian_packages etcd-server=3.4.23-4+b4 etcd-client=3.4.23-4+b4
etcd_run
for comparison in 'value("holder") = ""' 'value("holder") != "a"' 'value("holder") < "a"' 'version("holder") = "0"'; do
  printf '%s: %s\n' "$comparison" "$(printf '%s\n\n\n\n' "$comparison" | etcdctl txn | head -1)"
done | seen 'comparisons with a key that is not there' 'value("holder") = "": FAILURE
value("holder") != "a": FAILURE
value("holder") < "a": FAILURE
version("holder") = "0": SUCCESS'
