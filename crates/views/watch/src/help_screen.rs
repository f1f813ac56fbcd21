//! The screen of keys and columns.

use ratatui::text::Line;

use crate::visible::wrapped;

/// Keys, and what columns mean.
const TEXT: [(&str, &str); 24] = [
    ("q, Ctrl-C", "quit"),
    ("Tab, 1 2 3", "machine, processes, instances"),
    ("Up Down PgUp PgDn", "select or scroll"),
    ("Enter", "show one process or instance; Esc goes back"),
    ("/", "filter by name or process id; Esc clears it"),
    ("s", "sort by CPUs, memory, local share, name, id"),
    ("Space", "pause; again: continue"),
    ("+ -", "replay faster, slower"),
    ("Right", "next snapshot of a paused replay"),
    ("", ""),
    (
        "?",
        "unknown: could not be read, or needs a second snapshot",
    ),
    ("CPUs", "CPUs used since the snapshot before"),
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
    (
        "HUGE FREE",
        "size: free/total of each pool; none: no pool has pages",
    ),
    (
        "CACHE",
        "page cache, which the kernel can drop or write back",
    ),
    ("CPUs BUSY", "CPUs of the node at work, of all of its CPUs"),
];

/// Columns of the keys where there is room for two columns.
const KEYS: usize = 19;

/// Returns the lines of the screen: what is unknown now, then keys and columns.
pub(crate) fn lines(gaps: &[String], width: usize) -> Vec<Line<'static>> {
    let gap = |gap: &String| wrapped(&format!("? {gap}"), width);
    let mut lines: Vec<Line> = gaps.iter().flat_map(gap).map(Line::from).collect();
    if !gaps.is_empty() {
        lines.push(Line::default());
    }
    for (key, meaning) in TEXT {
        let texts = wrapped(meaning, width.saturating_sub(KEYS).max(12));
        if texts.is_empty() {
            lines.push(Line::default());
        }
        for (index, text) in texts.into_iter().enumerate() {
            let key = if index == 0 { key } else { "" };
            lines.push(Line::from(format!("{key:<KEYS$}{text}")));
        }
    }
    lines
}
