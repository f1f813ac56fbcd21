//! What a failed test said, short enough to be read.

/// The most lines that are shown of one test: with its title, its command to run it again, and what
/// is left out, within 20.
const MOST: usize = 16;

/// The most characters that are shown of a line: a document may be one.
const LONGEST: usize = 300;

/// Returns the first and last of its lines, without those of the harness, of backtraces, and empty
/// ones.
pub(super) fn shortened(said: &str) -> String {
    let is_of_harness = |line: &str| {
        [
            "running ",
            "test result: ",
            "failures:",
            "note: ",
            "error: test failed",
        ]
        .iter()
        .any(|start| line.starts_with(start))
            || (line.starts_with("test ")
                && (line.contains(" ... ") || line.contains(" has been running for over ")))
            || (line.starts_with("    ") && said.contains(&format!("test {} ...", line.trim())))
    };
    let lines = said.lines().map(str::trim_end);
    let cut = |line: &str| match line.char_indices().nth(LONGEST) {
        None => line.to_owned(),
        Some((at, _)) => format!("{} [cut]", &line[..at]),
    };
    let lines = lines.filter(|line| !line.is_empty() && !is_of_harness(line));
    let lines: Vec<_> = lines.map(cut).collect();
    match lines.len().checked_sub(MOST) {
        None | Some(0) => lines.join("\n"),
        Some(more) => {
            let (start, rest) = lines.split_at(MOST / 2);
            let (left_out, end) = rest.split_at(more + 1);
            let middle = format!("[{} lines left out]", left_out.len());
            [&start.join("\n"), &middle, &end.join("\n")]
                .map(String::as_str)
                .join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn what_a_failed_test_said_is_kept_with_both_ends() {
        let said = "\nrunning 1 test\n\nthread 'a::b' panicked at a.rs:1:2:\n  left: 708\n right: \
                    707\nnote: run with `RUST_BACKTRACE=1` environment variable\ntest a::b ... \
                    FAILED\n\nfailures:\n\nfailures:\n    a::b\n\ntest result: FAILED. 0 passed\n";
        let expected = "thread 'a::b' panicked at a.rs:1:2:\n  left: 708\n right: 707";
        assert_eq!(shortened(said), expected);
        assert_eq!(shortened(&"é".repeat(301)), "é".repeat(300) + " [cut]");
        let long: String = (1..=30).map(|it| format!("line {it}\n")).collect();
        let short = shortened(&long);
        assert_eq!(short.lines().count(), 16);
        assert!(
            short.starts_with("line 1\n") && short.ends_with("\nline 30"),
            "{short}"
        );
        assert!(
            short.contains("line 8\n[15 lines left out]\nline 24\n"),
            "{short}"
        );
    }
}
