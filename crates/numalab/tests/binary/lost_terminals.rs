//! Commands whose terminal or reader goes away: a lost connection, a terminal that is closed, and
//! one that takes no output.
//!
//! Tests of watch, live, serve.

use std::fs;
use std::process::{Command, Stdio};

use rustix::io::write;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Signal, kill_process};
use testing::{Need, not_run};

use crate::laboratory::{Laboratory, pid};
use crate::patience::until;
use crate::served::Served;

/// Runs a command on its own terminal, reads until it shows a text, and then
///
/// - `hang-up` closes the terminal, as a lost connection does: the kernel sends `SIGHUP`;
/// - `ignored` does the same to a command below nohup(1);
/// - `output-off` stops the output, as Ctrl-S does, and sends `SIGTERM` to the command.
///
/// Ends as the command does, and with 99 if the terminal still takes single keys.
const LOST: &str = r#"
import fcntl, os, pty, signal, struct, sys, termios
event, text, words = sys.argv[1], sys.argv[2].encode(), sys.argv[3:]
child, terminal = pty.fork()
if child == 0:
    if event == "ignored":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.environ["TERM"] = "xterm-256color"
    os.execvp(words[0], words)
shown = b""
while text not in shown:
    shown += os.read(terminal, 65536)
if event == "output-off":
    keys = os.open(f"/proc/{child}/fd/0", os.O_RDWR | os.O_NOCTTY)
    termios.tcflow(keys, termios.TCOOFF)
    os.kill(child, signal.SIGTERM)
else:
    os.close(terminal)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
if event == "output-off" and not termios.tcgetattr(keys)[3] & termios.ICANON:
    status = 99
sys.exit(status)
"#;

/// Returns a laboratory that starts everything on a terminal that has such an event after `text`;
/// `None` if none can be created.
fn on_a_terminal_with(test: &str, event: &str, text: &str) -> Option<Laboratory> {
    if Command::new("python3").args(["-c", ""]).status().is_err() {
        not_run(test, Need::Package, "it needs python3, to make a terminal");
        return None;
    }
    let mut laboratory = Laboratory::new();
    let script = laboratory.file("lost.py", LOST);
    laboratory.launch_behind(&["python3", &script, event, text]);
    Some(laboratory)
}

#[test]
fn a_view_ends_with_its_terminal_and_completes_its_recording() {
    let test = "a_view_ends_with_its_terminal_and_completes_its_recording";
    for event in ["hang-up", "ignored"] {
        let Some(mut laboratory) = on_a_terminal_with(test, event, "NODE") else {
            return;
        };
        let file = laboratory.state().join("recording").display().to_string();
        laboratory.run(&["watch", "--record", &file]).with_code(0);
        laboratory.no_process_is_left();
        // A replay is a view, too.
        laboratory.run(&["watch", "--replay", &file]).with_code(0);
        laboratory.no_process_is_left();
        laboratory.launch_directly();
        let replayed = laboratory.run(&["watch", "--replay", &file, "--once"]);
        let replayed = replayed.with_code(0);
        assert!(replayed.stdout.contains("NODE"), "{}", replayed.stdout);
        // A recording that was cut off would be reported here.
        assert_eq!(replayed.stderr, "");
    }
}

#[test]
fn a_view_ends_on_a_signal_while_its_terminal_takes_no_output() {
    let test = "a_view_ends_on_a_signal_while_its_terminal_takes_no_output";
    let Some(laboratory) = on_a_terminal_with(test, "output-off", "NODE") else {
        return;
    };
    laboratory.run(&["watch"]).with_code(130);
    laboratory.no_process_is_left();
}

#[test]
fn a_stream_ends_on_a_signal_while_nobody_reads_it() {
    let laboratory = Laboratory::new();
    let mut command = laboratory.command(&["watch", "--json", "--interval", "0.2"]);
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    // Full before anything is said.
    let bytes = fcntl_setpipe_size(&writer, 4096).unwrap();
    assert_eq!(write(&writer, &vec![0; bytes]).unwrap(), bytes);
    let mut stream = command.stdout(Stdio::from(writer)).spawn().unwrap();
    // The kernel's function in which it waits: pipe_write, anon_pipe_write, pipe_wait before 5.5.
    let waits_in = format!("/proc/{}/wchan", stream.id());
    until("it waits for the reader", || {
        let function = fs::read_to_string(&waits_in).unwrap();
        function.contains("pipe_w").then_some(())
    });
    kill_process(pid(stream.id()), Signal::TERM).unwrap();
    let status = until("it ends", || stream.try_wait().unwrap());
    assert_eq!(status.code(), Some(130), "{status}");
    drop(reader);
}

/// Commands that read no keys end by the signal of a lost terminal.
#[test]
fn long_commands_end_with_their_terminal() {
    let test = "long_commands_end_with_their_terminal";
    let serve: &[&str] = &["serve", "--listen", "127.0.0.1:0"];
    let stream: &[&str] = &["watch", "--json"];
    let touches: &[&str] = &["firsttouch", "1", "--for", "600s"];
    let cases = [
        (serve, "serving", 0),
        (stream, "numalab.snapshot/1", 0),
        (touches, "looking at", 130),
    ];
    for (words, text, code) in cases {
        let Some(laboratory) = on_a_terminal_with(test, "hang-up", text) else {
            return;
        };
        let ended = laboratory.run(words);
        assert_eq!(ended.status.code(), Some(code), "{words:?}: {ended:?}");
        laboratory.no_process_is_left();
    }
}

#[test]
fn commands_below_nohup_ignore_the_end_of_their_terminal() {
    let mut laboratory = Laboratory::new();
    laboratory.launch_behind(&["nohup"]);
    let server = Served::start(&laboratory);
    let status = format!("/proc/{}/status", server.under_way.pid());
    let status = fs::read_to_string(status).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    assert_eq!(ignored & 1, 1, "{status}");
    server.under_way.signal(Signal::HUP);
    server.under_way.signal(Signal::TERM);
    server.under_way.finish().with_code(0);
}
