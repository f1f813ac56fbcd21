//! The screen of keys and columns.

use ratatui::text::Line;

use crate::actions::ACTIONS;
use crate::visible::wrapped;

/// Keys; those of [`ACTIONS`] follow.
const KEYS: [(&str, &str); 16] = [
    ("q, Ctrl-C", "quit"),
    ("Tab, 1 2 3", "machine, processes, instances"),
    ("Up Down PgUp PgDn", "select or scroll; Home, End"),
    ("Enter", "show one process or instance; Esc goes back"),
    (
        "/",
        "filter by name, command, user, cgroup or process id; Esc clears it",
    ),
    ("s", "sort by CPUs, memory, growth, local share, name, id"),
    ("v", "processes as a tree; again: as a list"),
    ("Space", "pause; again: continue"),
    (
        "mouse",
        "select, open with a second click; sort by a heading; wheel",
    ),
    ("", "Shift held: the terminal selects text, as elsewhere"),
    ("c", "copy the command (OSC 52)"),
    ("+ -", "replay faster, slower"),
    (
        "Left Right",
        "replay: the snapshot before, the next of a paused one",
    ),
    ("[ ]", "replay: the event before, the next: notices, ends"),
    ("t", "replay: go to a time, such as 14:03:30, +90 or -90"),
    ("?", "this help"),
];

/// What columns and marks mean.
const COLUMNS: [(&str, &str); 22] = [
    (
        "?",
        "unknown: could not be read, or needs a second snapshot",
    ),
    ("CPUs", "CPUs used since the snapshot before"),
    (
        "NAME",
        "the role by the title that a server gave itself; else the name",
    ),
    (
        "GROWTH/s",
        "by how much MEMORY grows, over ten seconds or between looks",
    ),
    (
        "LOCAL",
        "share of memory on the node of its CPUs, expected over allowed CPUs",
    ),
    ("MEMORY BY NODE", "node:share, the largest first"),
    ("AGE", "how old the memory by node is"),
    (
        "> in MEMORY",
        "a lower bound: what no process maps now is not seen",
    ),
    ("~", "a share of what was seen, where that is a lower bound"),
    ("CPU/NODE", "where the first thread last ran"),
    (
        "blocks",
        "the last minute, now at the right, as high as 100 %",
    ),
    ("MEMORY USED", "of a node: neither free nor page cache"),
    ("CPUs BUSY", "CPUs of the node at work, of all of its CPUs"),
    (
        "REMOTE SHARE",
        "of the pages allocated for a node, those that went to other nodes",
    ),
    (
        "HUGE FREE",
        "size: free/total of each pool; none: no pool has pages",
    ),
    (
        "CACHE",
        "page cache, which the kernel can drop or write back",
    ),
    (
        "HIT/s",
        "pages/s allocated on the node they were intended for",
    ),
    (
        "MISS/s",
        "pages/s allocated here that were intended for another node",
    ),
    (
        "FOREIGN/s",
        "pages/s intended for this node but allocated elsewhere",
    ),
    ("SESSION", "of a PostgreSQL, by pg_stat_activity"),
    ("FOR", "how long a session has been in its state"),
    ("WAIT", "what a session waits for"),
];

/// Columns of the keys where there is room for two columns.
const KEYS_WIDTH: usize = 19;

/// Returns the lines of the screen: what is unknown now, then keys and columns.
pub(crate) fn lines(gaps: &[String], width: usize) -> Vec<Line<'static>> {
    let gap = |gap: &String| wrapped(&format!("? {gap}"), width);
    let mut lines: Vec<Line> = gaps.iter().flat_map(gap).map(Line::from).collect();
    if !gaps.is_empty() {
        lines.push(Line::default());
    }
    let actions = ACTIONS.map(|it| (it.key.to_string(), it.meaning));
    let text = |rows: &[(&str, &'static str)]| {
        let rows = rows.iter();
        rows.map(|(key, meaning)| ((*key).to_owned(), *meaning))
            .collect::<Vec<_>>()
    };
    let empty = [(String::new(), "")];
    let rows = [text(&KEYS), actions.into(), empty.into(), text(&COLUMNS)].concat();
    for (key, meaning) in rows {
        let texts = wrapped(meaning, width.saturating_sub(KEYS_WIDTH).max(12));
        if texts.is_empty() {
            lines.push(Line::default());
        }
        for (index, text) in texts.into_iter().enumerate() {
            let key = if index == 0 { key.as_str() } else { "" };
            lines.push(Line::from(format!("{key:<KEYS_WIDTH$}{text}")));
        }
    }
    lines
}
