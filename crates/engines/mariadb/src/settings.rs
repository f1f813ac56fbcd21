//! The settings of a throw-away server; docs/mariadb.md explains them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use server::{Error, ServerCommand, ServerPlan, StopSignal, TablesPlan, settings_beside};

/// The settings of every server. `loose` ones are passed over by versions that do not have them.
const SETTINGS: &[&str] = &[
    "--skip-networking",
    "--skip-grant-tables",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--skip-stack-trace",
    "--performance-schema=0",
    "--event-scheduler=OFF",
    "--thread-handling=one-thread-per-connection",
    "--thread-cache-size=0",
    "--query-cache-type=0",
    "--query-cache-size=0",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=8M",
    "--loose-debug-no-sync=1",
    "--innodb-doublewrite=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=fsync",
    "--innodb-use-native-aio=0",
    "--innodb-read-ahead-threshold=0",
    "--innodb-random-read-ahead=0",
    "--innodb-adaptive-hash-index=0",
    "--innodb-stats-persistent=0",
    "--innodb-buffer-pool-dump-at-shutdown=0",
    "--innodb-buffer-pool-load-at-startup=0",
];
/// Room in the pool for the dictionary, undo logs, and the free pages that InnoDB keeps
/// (`innodb_lru_scan_depth`, 1536 pages).
const REST_BYTES: u64 = 96 << 20;
/// Room for page descriptors and the upper levels of the trees, as a fraction of the tables.
const DESCRIPTOR_SHARE: u64 = 16;
/// The pool is a multiple of this (`innodb_buffer_pool_extent_size` of 64-bit servers), and of the
/// largest usual huge page below it.
const EXTENT_BYTES: u64 = 8 << 20;

/// Whether a server may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It makes the tables.
    Loads,
    /// It is measured: with `innodb_read_only` nothing is flushed, purged or logged meanwhile.
    Reads,
}

/// The paths of a server.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The program.
    pub program: PathBuf,
    /// The data directory, in which it works.
    pub data: PathBuf,
    /// Its socket.
    pub socket: PathBuf,
    /// Its log.
    pub log: PathBuf,
}

/// Returns the size of the buffer pool.
pub(crate) fn pool_bytes(tables: &TablesPlan) -> u64 {
    let bytes = tables.cache_bytes + tables.cache_bytes / DESCRIPTOR_SHARE + REST_BYTES;
    bytes.next_multiple_of(EXTENT_BYTES)
}

/// Returns the command that starts a server.
///
/// # Errors
/// When a setting of the experiment is one of those that numalab needs.
pub(crate) fn command(
    places: &Places,
    plan: &ServerPlan,
    mode: Mode,
) -> Result<ServerCommand, Error> {
    let pool = pool_bytes(&plan.tables);
    let path = |name: &str, path: &Path| {
        let mut word = OsString::from(format!("--{name}="));
        word.push(path);
        word
    };
    let number = |name: &str, value: u64| OsString::from(format!("--{name}={value}"));
    let mut words: Vec<OsString> = vec![
        places.program.clone().into(),
        // It must be the first: no file of settings is read.
        "--no-defaults".into(),
        path("datadir", &places.data),
        path("tmpdir", &places.data),
        path("socket", &places.socket),
        path("pid-file", &places.data.join("pid")),
    ];
    words.extend(SETTINGS.iter().map(OsString::from));
    words.extend([
        number("innodb-buffer-pool-size", pool),
        // Else 10.11.12 and later reserve 8 TiB of addresses.
        number("loose-innodb-buffer-pool-size-max", pool),
        // Before that the pool consists of chunks: one, so that it is one mapping.
        number("loose-innodb-buffer-pool-chunk-size", pool),
        number("max-connections", u64::from(plan.tables.sessions) + 10),
        number("large-pages", u64::from(plan.huge_pages)),
        number("innodb-read-only", u64::from(mode == Mode::Reads)),
    ]);
    let own: Vec<String> = words
        .iter()
        .filter_map(|word| setting(word.to_str()?))
        .collect();
    for (name, value) in settings_beside(plan, own.iter())? {
        words.push(format!("--{name}={value}").into());
    }
    let stop = StopSignal::Terminate;
    Ok(ServerCommand { words, stop })
}

/// Returns the name of the setting in a word: `--loose-debug-no-sync=1` is `debug-no-sync`.
fn setting(word: &str) -> Option<String> {
    let word = word.strip_prefix("--")?;
    let name = word.split('=').next().unwrap_or(word);
    let name = name.strip_prefix("loose-").unwrap_or(name);
    Some(name.strip_prefix("skip-").unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests {
    use model::ServerKind;
    use server::TablesPlan;

    use super::{pool_bytes, setting};

    #[test]
    fn words_of_the_command_name_their_settings() {
        let check = |word, expected: Option<&str>| {
            assert_eq!(setting(word).as_deref(), expected, "{word}");
        };
        check(
            "--innodb-buffer-pool-size=1",
            Some("innodb-buffer-pool-size"),
        );
        check("--loose-debug-no-sync=1", Some("debug-no-sync"));
        check("--skip-networking", Some("networking"));
        check("/usr/sbin/mariadbd", None);
    }

    #[test]
    fn the_pool_has_room_for_more_than_the_tables() {
        let pool = |cache_bytes: u64| {
            pool_bytes(&TablesPlan {
                sessions: 1,
                cache_bytes,
                row_bytes: ServerKind::named("mariadb").row_bytes(),
            })
        };
        assert_eq!(pool(64 << 20), 168 << 20);
        assert_eq!(pool(1 << 30), 1184 << 20);
        assert_eq!(pool(1) % (8 << 20), 0);
    }
}
