//! Reads the settings of a running server for the doctor.

use std::collections::BTreeMap;
use std::path::Path;

use judgement::doctor::PostgresSettings;
use linux::Root;
use linux::proc_meminfo::Meminfo;
use server::Error;

use crate::error;
use crate::local::LocalServer;

/// Queries the server of a data directory, as `role`; `None`: the one named like the connecting
/// user.
///
/// # Errors
/// When the server does not run, or rejects the connection.
pub fn server_settings(data: &Path, role: Option<&str>) -> Result<PostgresSettings, Error> {
    LocalServer::of(data, role)?.ask(|door| {
        let mut client = door.connect_somewhere()?;
        // Sizes are text such as 2MB, or 0 for the kernel's default; before 14 there are none.
        let sql = "SELECT current_setting('huge_pages'), \
                          nullif(current_setting('shared_memory_size_in_huge_pages', true), \
                                 '')::bigint, \
                          coalesce(pg_size_bytes(current_setting('huge_page_size', true)), 0)";
        let row = client.query_one(sql, &[]);
        let row = row.map_err(error::client("asking for the server's settings"))?;
        let needed: Option<i64> = row.get(1);
        let bytes: i64 = row.get(2);
        Ok(PostgresSettings {
            huge_pages: row.get(0),
            // -1 if the server does not support huge pages.
            huge_pages_needed: needed.and_then(|needed| u64::try_from(needed).ok()),
            huge_page_bytes: match u64::try_from(bytes) {
                Ok(bytes) if bytes > 0 => Some(bytes),
                _ => default_huge_page_bytes()?,
            },
        })
    })
}

/// The settings of a load, and of where memory is: those that a record compares. Some of the others
/// hold passwords (`primary_conninfo`).
const RECORDED: [&str; 24] = [
    "autovacuum",
    "dynamic_shared_memory_type",
    "effective_io_concurrency",
    "fsync",
    "full_page_writes",
    "huge_page_size",
    "huge_pages",
    "io_method",
    "io_workers",
    "jit",
    "maintenance_work_mem",
    "max_connections",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "max_worker_processes",
    "server_version",
    "shared_buffers",
    "shared_memory_size_in_huge_pages",
    "shared_memory_type",
    "synchronous_commit",
    "temp_buffers",
    "wal_buffers",
    "wal_level",
    "work_mem",
];

/// Asks the running server of a data directory for the settings that its load depends on, by name;
/// those that its version does not have are missing.
///
/// # Errors
/// As [`server_settings`].
pub fn recorded_settings(
    data: &Path,
    role: Option<&str>,
) -> Result<BTreeMap<String, String>, Error> {
    LocalServer::of(data, role)?.ask(|door| {
        let mut client = door.connect_somewhere()?;
        let sql = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY ($1)";
        let names: Vec<&str> = RECORDED.to_vec();
        let rows = client.query(sql, &[&names]);
        let rows = rows.map_err(error::client("asking for the server's settings"))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    })
}

fn default_huge_page_bytes() -> Result<Option<u64>, Error> {
    let file = Root::live().read("proc/meminfo")?;
    Ok(Meminfo::parse(&file)?.huge_page_bytes)
}
