//! The paths of the server: one table. A path is compared with it and never becomes a file's name.

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The live page.
    Live,
    /// Its part that changes.
    LivePart,
    /// The list of runs.
    Runs,
    /// The page of a run.
    Run,
    /// The comparison of two runs.
    Compare,
    /// Metrics.
    Metrics,
    /// `numalab.snapshot/1`.
    SnapshotDocument,
    /// `numalab.history/1`.
    RunsDocument,
    /// `numalab.run/1`.
    RunDocument,
    /// `numalab.compare/1`.
    CompareDocument,
    /// Whether the server answers.
    Health,
    /// The form for the token.
    Login,
    /// The style of the pages.
    Style,
    /// The script of the pages.
    Script,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    /// The path; `ID` at its end is the id of a run.
    pub path: &'static str,
    /// What is there.
    pub place: Place,
    /// Whether it is shown to those who have not shown the token.
    pub is_open: bool,
    /// What it shows.
    pub shows: &'static str,
}

const fn route(path: &'static str, place: Place, is_open: bool, shows: &'static str) -> Route {
    Route {
        path,
        place,
        is_open,
        shows,
    }
}

/// Every path.
pub(super) const ROUTES: &[Route] = &[
    route(
        "/",
        Place::Live,
        false,
        "nodes, databases and processes now; updates itself",
    ),
    route(
        "/live",
        Place::LivePart,
        false,
        "the part of `/` that changes",
    ),
    route(
        "/runs",
        Place::Runs,
        false,
        "stored runs; pick two to compare them",
    ),
    route("/runs/ID", Place::Run, false, "the report of a run"),
    route(
        "/compare",
        Place::Compare,
        false,
        "two runs compared: `?a=ID&b=ID`",
    ),
    route(
        "/metrics",
        Place::Metrics,
        false,
        "metrics in the text format of Prometheus",
    ),
    route(
        "/api/snapshot",
        Place::SnapshotDocument,
        false,
        "`numalab.snapshot/1`",
    ),
    route(
        "/api/runs",
        Place::RunsDocument,
        false,
        "`numalab.history/1`",
    ),
    route("/api/runs/ID", Place::RunDocument, false, "`numalab.run/1`"),
    route(
        "/api/compare",
        Place::CompareDocument,
        false,
        "`numalab.compare/1`: `?a=ID&b=ID`",
    ),
    route("/healthz", Place::Health, true, "`ok`; needs no token"),
    route("/login", Place::Login, true, "the form for the token"),
    route("/style.css", Place::Style, true, "the style of the pages"),
    route("/live.js", Place::Script, true, "the script of `/`"),
];

/// Maximum length of the id of a run.
const ID_MAX: usize = 64;

/// Returns what is at a path, and the id of the run in it.
pub(super) fn find(path: &str) -> Option<(&'static Route, &str)> {
    ROUTES
        .iter()
        .find_map(|route| match route.path.strip_suffix("ID") {
            None => (route.path == path).then_some((route, "")),
            Some(start) => {
                let id = path.strip_prefix(start)?;
                is_id(id).then_some((route, id))
            }
        })
}

/// Whether a text can be the id of a run.
pub(super) fn is_id(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=ID_MAX).contains(&text.len()) && text.bytes().all(is_part)
}

/// Returns the two runs that a query names: `a=ID&b=ID`, or `run=ID` twice as the list of runs
/// sends it, newest first; the older one is compared with.
pub(super) fn two_runs(query: &str) -> Option<(&str, &str)> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let pairs: Vec<(&str, &str)> = pairs
        .filter(|(name, id)| matches!(*name, "a" | "b" | "run") && is_id(id))
        .collect();
    match pairs.as_slice() {
        [("a", first), ("b", second)] | [("b", second), ("a", first)] => Some((first, second)),
        [("run", newer), ("run", older)] => Some((older, newer)),
        _ => None,
    }
}

/// Returns the table as Markdown, as it stands in docs/serve.md.
#[must_use]
pub fn routes_markdown() -> String {
    let mut text = String::from("| path | shows |\n| --- | --- |\n");
    for route in ROUTES {
        text += &format!("| `{}` | {} |\n", route.path, route.shows);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_table_are_found() {
        let check = |path: &str, expected: Option<(Place, &str)>| {
            let found = find(path).map(|(route, id)| (route.place, id));
            assert_eq!(found, expected, "{path}");
        };
        check("/", Some((Place::Live, "")));
        check("/runs", Some((Place::Runs, "")));
        check("/runs/20261120-1", Some((Place::Run, "20261120-1")));
        check("/api/runs/last", Some((Place::RunDocument, "last")));
        for path in [
            "",
            "//",
            "/runs/",
            "/runs/../metrics",
            "/runs/..",
            "/runs/%2e%2e",
            "/runs/a/b",
            "/RUNS",
            "/metrics/",
            "/./metrics",
            "/runs/a b",
            "/../../etc/passwd",
            "/style.css\0",
        ] {
            check(path, None);
        }
        check(&format!("/runs/{}", "a".repeat(65)), None);
    }

    #[test]
    fn two_runs_are_named_in_either_way() {
        assert_eq!(two_runs("a=x&b=y"), Some(("x", "y")));
        assert_eq!(two_runs("b=y&a=x"), Some(("x", "y")));
        assert_eq!(two_runs("run=new&run=old&go=Compare"), Some(("old", "new")));
        for query in [
            "a=x&a=y",
            "a=x&run=y",
            "",
            "a=x",
            "a=x&b=../y",
            "run=x&run=y&run=z",
            "a&b",
        ] {
            assert_eq!(two_runs(query), None, "{query}");
        }
    }

    #[test]
    fn the_page_has_every_path() {
        let page = include_str!("../../../../../docs/serve.md");
        let table = routes_markdown();
        assert!(
            page.contains(&table),
            "put this into docs/serve.md:\n{table}"
        );
    }
}
