//! Ids of runs: short enough to type, ordered by time.

use jiff::{ToSpan, Zoned};
use store::Store;

/// Maximum number of milliseconds by which an id may be ahead of its run's start: no store sees
/// more runs than that start in one millisecond.
const AHEAD_MAX_MS: i64 = 1000;

/// Claims the id of a run that starts now: date, time and milliseconds, as in
/// `20261121-034512-271`. If another run has it, claims the next free millisecond.
pub(crate) fn claim(store: &mut Store, now: &Zoned) -> Result<String, store::Error> {
    store.claim_id((0..AHEAD_MAX_MS).map(|ahead_ms| of_moment(&(now + ahead_ms.milliseconds()))))
}

fn of_moment(moment: &Zoned) -> String {
    moment.strftime("%Y%m%d-%H%M%S-%3f").to_string()
}

/// Formats the time of a run's start (RFC 3339, with offset).
pub(crate) fn rfc_3339(now: &Zoned) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests {
    use super::{claim, of_moment, rfc_3339};
    use store::Store;

    #[test]
    fn ids_and_times_are_of_the_same_moment() {
        let moment: jiff::Zoned = "2026-11-21T03:45:12.271+01:00[Europe/Paris]"
            .parse()
            .unwrap();
        assert_eq!(of_moment(&moment), "20261121-034512-271");
        assert_eq!(rfc_3339(&moment), "2026-11-21T03:45:12+01:00");
    }

    #[test]
    fn runs_of_one_millisecond_have_ids_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let moment: jiff::Zoned = "2026-11-21T03:45:59.999[Europe/Paris]".parse().unwrap();
        let mut one = Store::open(&folder.path().join("store.db")).unwrap();
        let mut other = Store::open(&folder.path().join("store.db")).unwrap();
        assert_eq!(claim(&mut one, &moment).unwrap(), "20261121-034559-999");
        assert_eq!(claim(&mut other, &moment).unwrap(), "20261121-034600-000");
    }
}
