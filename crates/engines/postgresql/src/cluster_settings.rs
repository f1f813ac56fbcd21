//! The settings that every throw-away cluster has; docs/postgres.md explains them.

pub(crate) const SETTINGS: &str = "\
# Written by numalab.
listen_addresses = ''
dynamic_shared_memory_type = mmap
autovacuum = off
jit = off
track_io_timing = off
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
max_wal_size = 16GB
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
enable_seqscan = off
enable_bitmapscan = off
plan_cache_mode = force_generic_plan
logging_collector = off
log_min_messages = warning
";
