//! A terminal for numalab, to test what its user sees.

use std::process::Command;

use testing::{Need, not_run};

use crate::laboratory::Laboratory;

/// Runs a command on a terminal with this many columns, and copies its output.
const TERMINAL: &str = r#"
import fcntl, os, pty, struct, subprocess, sys, termios
main, terminal = pty.openpty()
size = struct.pack("HHHH", 40, int(sys.argv[1]), 0, 0)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
child = subprocess.Popen(sys.argv[2:], stdin=terminal, stdout=terminal, stderr=terminal)
os.close(terminal)
while True:
    try:
        data = os.read(main, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.stdout.flush()
sys.exit(child.wait())
"#;

/// Makes `laboratory` start everything on a terminal of 80 columns; `None` if none can be created.
pub(crate) fn on_a_terminal(laboratory: &mut Laboratory, test: &str) -> Option<()> {
    if Command::new("python3").args(["-c", ""]).status().is_err() {
        not_run(test, Need::Package, "it needs python3, to make a terminal");
        return None;
    }
    let script = laboratory.file("terminal.py", TERMINAL);
    laboratory.launch_all_behind(&["python3", &script, "80"]);
    Some(())
}

/// Returns the lines that a terminal finally shows: only the last version of a redrawn line,
/// without colours.
pub(crate) fn shown(written: &str) -> Vec<String> {
    let last = |line: &str| {
        let parts = line.rsplit('\r').map(without_escapes);
        let mut parts = parts.map(|part| part.trim_end().to_owned());
        parts.find(|part| !part.is_empty()).unwrap_or_default()
    };
    written.replace("\r\n", "\n").lines().map(last).collect()
}

/// Returns text without the escape sequences that set colours and clear lines.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence.find(|it: char| it.is_ascii_alphabetic());
        rest = end.map_or("", |end| &sequence[end + 1..]);
    }
    plain + rest
}
