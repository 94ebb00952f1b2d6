// Settings of jemalloc (jemalloc(3), "TUNING"), which reads this variable before main(); the environment's MALLOC_CONF
// comes after it.
//
// Freed pages go back to the system half a second later, by a thread of jemalloc's own: after a burst (a list of many
// pods, searches for many shapes) the process would otherwise stay at its peak size, which counts against a container's
// limit. Four arenas are enough for few threads; the default, four per processor, costs memory on large nodes.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:0,narenas:4";
}
