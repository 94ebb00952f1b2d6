#!/usr/bin/env bash
# etcd grants no lease shorter than one and a half times its election timeout, rounded up: with the defaults one of a second lasts two, with the election timeout
# of a slow network 5 s becomes 15. A lock that is computed from the TTL that was asked for is held longer than its holder thinks.
. "$(dirname "$0")/common.sh"
guess 'a lease lasts what was asked for, or the grant fails'
debian_packages etcd-server=3.4.23-4+b4 etcd-client=3.4.23-4+b4
etcd_run
etcdctl lease grant 1 > leases
etcdctl lease grant 5 >> leases
etcd_stop
etcd_run --heartbeat-interval=1000 --election-timeout=10000
etcdctl lease grant 5 >> leases
sed 's/lease [0-9a-f]* //' leases | seen 'leases of 1 s and 5 s; with a timeout of 10 s, of 5 s' 'granted with TTL(2s)
granted with TTL(5s)
granted with TTL(15s)'
