//! The server's own counters: the reply to `INFO stats`
//! (<https://valkey.io/commands/info/>).

use server::{CounterReading, Counters, Error};

use crate::client::Client;

/// The counter of keys that were found.
const HITS: &str = "keyspace_hits";
/// The counters of what must not happen: keys that were not found, or that left memory.
const OUTSIDE: [&str; 3] = ["keyspace_misses", "evicted_keys", "expired_keys"];

/// Reads the counters.
///
/// # Errors
/// When the server does not answer, or lacks one.
pub(crate) fn read(client: &mut Client) -> Result<Counters, Error> {
    parse(&client.ask(&[b"INFO", b"stats"])?)
}

/// A counter by its name.
///
/// # Errors
/// When it is missing, or no number.
pub(crate) fn count(text: &str, name: &str) -> Result<u64, Error> {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let count = found.and_then(|count| count.trim().parse::<u64>().ok());
    count.ok_or_else(|| Error::failed(format!("INFO stats has no {name}")))
}

fn parse(text: &str) -> Result<Counters, Error> {
    let count = |name: &str| count(text, name);
    let mut from_outside: u64 = 0;
    for name in OUTSIDE {
        from_outside = from_outside.saturating_add(count(name)?);
    }
    let hits = CounterReading {
        source: HITS,
        count: count(HITS)?,
    };
    Ok(Counters {
        reads: vec![hits],
        from_outside,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: &str = "# Stats\r\ntotal_commands_processed:9\r\nexpired_keys:1\r\n\
                         evicted_keys:2\r\nkeyspace_hits:100\r\nkeyspace_misses:4\r\n";

    #[test]
    fn hits_are_logical_reads_and_the_rest_is_outside() {
        let counters = parse(STATS).unwrap();
        assert_eq!(counters.from_outside, 7);
        assert_eq!(
            (counters.reads[0].source, counters.reads[0].count),
            (HITS, 100)
        );
        for name in [HITS, OUTSIDE[0], OUTSIDE[1], OUTSIDE[2]] {
            let error = parse(&STATS.replace(name, "other"))
                .unwrap_err()
                .to_string();
            assert!(error.contains(name), "{error}");
        }
        assert!(parse(&STATS.replace("100", "many")).is_err());
    }
}
