//! What the doctor prints of a server whose memory lies wrong: one screen, which
//! docs/doctor-screens.md shows.

use std::fs::OpenOptions;
use std::io::Write;

use crate::laboratory::Laboratory;

/// The page with the screens.
const PAGE: &str = include_str!("../../../../../docs/doctor-screens.md");
/// A screen.
const LINES: usize = 40;
const COLUMNS: usize = 80;
/// Where screens are written to if this is set, for the page: `cargo xtask guest --share`.
const UPDATE: &str = "NUMALAB_UPDATE_SCREENS";
const SHARED: &str = "/run/share/screens.md";

/// Asserts that the doctor says all of this target on one screen, and what the page shows.
#[track_caller]
pub(super) fn is_one_screen(laboratory: &Laboratory, heading: &str, target: &str) {
    let screen = laboratory.run(&["doctor", target]).with_code(0).stdout;
    let block = format!("## {heading}\n\n```text\n{screen}```\n");
    if std::env::var_os(UPDATE).is_some() {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).open(SHARED).unwrap();
        file.write_all(format!("\n{block}").as_bytes()).unwrap();
        return;
    }
    let wide = screen.lines().find(|line| is_too_wide(line));
    assert_eq!(wide, None, "{screen}");
    assert!(screen.lines().count() <= LINES, "{screen}");
    let shown = PAGE
        .split("\n## ")
        .find_map(|part| part.strip_prefix(&format!("{heading}\n")));
    let shown = shown.unwrap_or_else(|| panic!("docs/doctor-screens.md lacks\n{block}"));
    let shown = shown.trim().trim_matches('`');
    let shown = shown.strip_prefix("text\n").unwrap_or(shown);
    assert_eq!(steps(&screen), steps(shown), "{screen}");
}

/// Commands are not wrapped, so that they can be copied.
fn is_too_wide(line: &str) -> bool {
    let command: String = line.chars().skip("  now       ".len()).collect();
    let is_command = ["numalab ", "numactl "]
        .iter()
        .any(|it| command.starts_with(it));
    line.chars().count() > COLUMNS && !is_command
}

/// What is wrong and what to type, without figures and names of folders. What the machine has
/// besides (programs in the file cache, the time that a move takes) differs from time to time.
fn steps(screen: &str) -> Vec<String> {
    let starts = [
        "error: ",
        "plan: ",
        "  now       numalab",
        "  undo ",
        "  for good ",
        "  verify ",
    ];
    let is_step = |line: &&str| starts.iter().any(|start| line.starts_with(start));
    let lines = screen.lines().filter(is_step);
    lines
        .map(|line| {
            line.split_whitespace()
                .map(word)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

/// A word with `#` for each number.
fn word(word: &str) -> String {
    if word.contains("/tmp/") {
        return "FOLDER".to_owned();
    }
    let mut shown = String::new();
    for char in word.chars() {
        let is_figure = char.is_ascii_digit() || char == '.';
        match is_figure {
            false => shown.push(char),
            true if shown.ends_with('#') => {}
            true => shown.push('#'),
        }
    }
    shown
}
