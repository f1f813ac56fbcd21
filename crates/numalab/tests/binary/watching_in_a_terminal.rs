//! `numalab watch` in a terminal, by keys.
//!
//! Tests of watch.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::processes::Role;
use crate::running::Running;
use crate::tmux::Tmux;

const LARGE: (u16, u16) = (80, 24);
const SMALL: (u16, u16) = (40, 12);
const WIDE: (u16, u16) = (120, 40);

/// Returns the lines between the first and the last, without commands, the last column: of those
/// the arguments are not recorded.
fn body(screen: &str) -> Vec<String> {
    let lines: Vec<&str> = screen.lines().collect();
    let mut width = usize::MAX;
    let without_command = |line: &&str| {
        if let Some((before, _)) = line.split_once("COMMAND") {
            width = before.chars().count();
        }
        let kept: String = line.chars().take(width).collect();
        kept.trim_end().to_owned()
    };
    lines[1..lines.len() - 1]
        .iter()
        .map(without_command)
        .collect()
}

/// Returns the time in the first line of a screen.
fn time(screen: &str) -> String {
    let line = screen.lines().next().unwrap_or_default();
    let mut words = line.split(' ');
    let word = words.find(|word| word.len() == 8 && word.split(':').count() == 3);
    word.unwrap_or_else(|| panic!("no time: {line}")).to_owned()
}

#[test]
fn a_process_is_found_by_a_filter_and_opened() {
    let laboratory = Laboratory::new();
    let test = "a_process_is_found_by_a_filter_and_opened";
    let target = Running::start(&["sleep", "600"]);
    let pid = target.pid();
    for size in [LARGE, SMALL] {
        let Some(tmux) = Tmux::start(&laboratory, test, size, &["watch"]) else {
            return;
        };
        let screen = tmux.shows("NODE");
        assert!(
            screen
                .lines()
                .all(|line| line.chars().count() <= size.0.into())
        );
        tmux.press(&["Tab"]);
        tmux.shows("NAME");
        tmux.press(&["/", &pid, "Enter"]);
        tmux.shows(&format!("filter: {pid}"));
        tmux.press(&["Enter"]);
        tmux.shows(&format!("Process {pid}, sleep: 1 thread"));
        tmux.press(&["End"]);
        // On a busy machine the memory of the process is not looked at in the first second.
        let end = until("threads and segments", || {
            tmux.press(&["End"]);
            let screen = tmux.screen();
            let is_whole = screen.contains("THREAD") && screen.contains("Every page");
            is_whole.then_some(screen)
        });
        assert!(end.contains(&format!("{pid} sleep")), "{end}");
        let segments = size == SMALL || end.contains("private memory");
        assert!(segments, "{end}");
        tmux.resize(SMALL);
        tmux.shows("Esc back");
        tmux.press(&["Escape"]);
        tmux.shows(&format!("filter: {pid}"));
        tmux.press(&["q"]);
        tmux.shows("ended with 0");
        assert!(!tmux.is_taken());
    }
}

#[test]
fn a_replay_shows_the_screens_that_were_live() {
    let laboratory = Laboratory::new();
    let test = "a_replay_shows_the_screens_that_were_live";
    let file = laboratory.state().join("recording").display().to_string();
    let words = ["watch", "--record", &file];
    let Some(tmux) = Tmux::start(&laboratory, test, LARGE, &words) else {
        return;
    };
    let first = time(&tmux.shows("NODE"));
    until("a third snapshot", || {
        (time(&tmux.screen()) > first).then_some(())
    });
    tmux.press(&["Space"]);
    let machine = tmux.shows_at_rest("PAUSED");
    tmux.press(&["Tab", "s"]);
    let processes = tmux.shows_at_rest("processes by memory");
    tmux.press(&["q"]);
    tmux.shows("show them: numalab watch --replay");
    drop(tmux);

    let words = ["watch", "--replay", &file];
    let tmux = Tmux::start(&laboratory, test, LARGE, &words).unwrap();
    tmux.shows("replay 1/");
    tmux.press(&["Space"]);
    tmux.shows("PAUSED");
    let found = |screen: &str| {
        until("the screen of that moment", || {
            let now = tmux.shows_at_rest("replay");
            if time(&now) == time(screen) && body(&now) == body(screen) {
                return Some(());
            }
            let is_over = now.contains("ENDED") || time(&now) > time(screen);
            assert!(!is_over, "live:\n{screen}\nreplayed:\n{now}");
            tmux.press(&["Right"]);
            None
        });
    };
    found(&machine);
    tmux.press(&["Tab", "s"]);
    tmux.shows("processes by memory");
    found(&processes);
    tmux.press(&["Space", "+", "+", "+"]);
    tmux.shows("ENDED | replay");
}

#[test]
fn a_replay_goes_back_to_a_time_and_to_events() {
    let laboratory = Laboratory::new();
    let test = "a_replay_goes_back_to_a_time_and_to_events";
    let file = laboratory.state().join("recording").display().to_string();
    let target = Running::start(&["sleep", "600"]);
    let (pid, words) = (target.pid(), ["--interval", "0.2", "--count", "12"]);
    let words = [&["watch", &pid, "--record", &file], &words[..]].concat();
    laboratory.run(&words).with_code(0);
    let Some(tmux) = Tmux::start(&laboratory, test, LARGE, &["watch", "--replay", &file]) else {
        return;
    };
    tmux.press(&["+", "+", "+", "+"]);
    tmux.shows("ENDED | replay 12/12");
    tmux.press(&["Left"]);
    tmux.shows("PAUSED | replay 11/12");
    tmux.press(&["Right"]);
    tmux.shows("replay 12/12");
    tmux.press(&["["]);
    tmux.shows("no further event in this direction");
    tmux.press(&["t", "-100", "Enter"]);
    tmux.shows("replay 1/12");
    tmux.press(&["t", "+999", "Enter"]);
    let screen = tmux.shows("the recording ends at");
    assert!(screen.contains("ENDED | replay 12/12"), "{screen}");
    tmux.press(&["q"]);
    tmux.shows("ended with 0");
}

#[test]
fn a_row_is_asked_by_a_command_that_can_be_copied() {
    let laboratory = Laboratory::new();
    let test = "a_row_is_asked_by_a_command_that_can_be_copied";
    let target = Running::start(&["sleep", "600"]);
    let pid = target.pid();
    let Some(tmux) = Tmux::start(&laboratory, test, LARGE, &["watch"]) else {
        return;
    };
    tmux.shows("NODE");
    tmux.press(&["Tab", "/", &pid, "Enter"]);
    tmux.shows(&format!("filter: {pid}"));
    tmux.press(&["i"]);
    tmux.shows(&format!("$ numalab inspect {pid}"));
    tmux.shows("By node");
    tmux.press(&["c"]);
    let command = format!("numalab inspect {pid}");
    tmux.shows(&format!("to copy: {command}"));
    assert_eq!(tmux.copied(), command);
    tmux.press(&["p"]);
    tmux.shows(&format!("$ numalab doctor {pid}"));
    tmux.press(&["Escape"]);
    tmux.shows(&format!("filter: {pid}"));
    tmux.press(&["q"]);
    tmux.shows("ended with 0");
}

#[test]
fn a_mouse_sorts_and_opens_and_is_given_back() {
    let laboratory = Laboratory::new();
    let test = "a_mouse_sorts_and_opens_and_is_given_back";
    let target = Running::start(&["sleep", "600"]);
    let pid = target.pid();
    let Some(tmux) = Tmux::start(&laboratory, test, LARGE, &["watch", &pid]) else {
        return;
    };
    tmux.shows("NODE");
    assert!(tmux.is_taken());
    tmux.press(&["2"]);
    tmux.shows("processes by CPUs");
    tmux.click(3, 1);
    tmux.shows("processes by process id");
    tmux.click(3, 2);
    tmux.shows(&format!("Process {pid}, sleep"));
    tmux.press(&["q"]);
    tmux.shows("ended with 0");
    assert!(!tmux.is_taken());
}

#[test]
fn a_locale_without_utf_8_gets_ascii() {
    let mut laboratory = Laboratory::new();
    let test = "a_locale_without_utf_8_gets_ascii";
    laboratory.launch_behind(&["env", "LC_ALL=C"]);
    let Some(tmux) = Tmux::start(&laboratory, test, LARGE, &["watch"]) else {
        return;
    };
    tmux.shows("NODE");
    tmux.press(&["2"]);
    tmux.shows("processes by");
    tmux.press(&["v"]);
    let tree = until("the tree is drawn", || {
        let screen = tmux.screen();
        let is_there = ["|-", "`-"].iter().any(|branch| screen.contains(branch));
        is_there.then_some(screen)
    });
    assert!(tree.is_ascii(), "{tree}");
}

#[test]
fn the_sessions_of_a_postgresql_are_those_that_it_tells() {
    let test = "the_sessions_of_a_postgresql_are_those_that_it_tells";
    let Some(bin) = installed(test) else {
        return;
    };
    let laboratory = Laboratory::new();
    let server = Server::start(&bin);
    let Some(tmux) = Tmux::start(&laboratory, test, WIDE, &["watch", &server.target()]) else {
        return;
    };
    tmux.shows("walwriter");
    tmux.press(&["3", "Enter"]);
    let user = if linux::process::is_root() {
        "nobody"
    } else {
        ""
    };
    if !user.is_empty() {
        tmux.shows("Sessions: unknown");
        server.query(&format!("CREATE ROLE {user} LOGIN SUPERUSER"));
    }
    tmux.shows("No sessions.");
    let url = server.url("postgres");
    let sql = "SELECT pg_sleep(600) /* \u{1b}[2J */";
    let psql = bin.join("psql").display().to_string();
    let _session = Running::start(&[&psql, &url, "-c", sql]);
    let screen = tmux.shows("SELECT pg_sleep(600)");
    assert!(screen.contains("\\u{1b}[2J"), "{screen}");
    let row = screen
        .lines()
        .find(|line| line.contains("pg_sleep"))
        .unwrap();
    for word in ["postgres", "psql", "active"] {
        assert!(row.contains(word), "{word}: {screen}");
    }
}

#[test]
fn the_end_of_a_process_is_said_and_its_last_picture_stays() {
    let laboratory = Laboratory::new();
    let test = "the_end_of_a_process_is_said_and_its_last_picture_stays";
    let mut target = Running::start(&["sleep", "600"]);
    let pid = target.pid();
    let Some(tmux) = Tmux::start(&laboratory, test, LARGE, &["watch", &pid]) else {
        return;
    };
    tmux.shows(&format!("{pid} sleep"));
    target.0.kill().unwrap();
    target.0.wait().unwrap();
    let screen = tmux.shows("ENDED: the process has ended");
    assert!(screen.contains(&format!("{pid} sleep")), "{screen}");
    tmux.press(&["q"]);
    tmux.shows("ended with 0");
}

#[test]
fn a_signal_gives_the_terminal_back_and_completes_the_recording() {
    let laboratory = Laboratory::new();
    let test = "a_signal_gives_the_terminal_back_and_completes_the_recording";
    let file = laboratory.state().join("recording").display().to_string();
    let words = ["watch", "--record", &file];
    let Some(tmux) = Tmux::start(&laboratory, test, LARGE, &words) else {
        return;
    };
    tmux.shows("NODE");
    assert!(tmux.is_taken());
    let pids = laboratory.pids(Role::Coordinator);
    let watching = pids.into_iter().find(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim() == "numalab"
    });
    let watching = i32::try_from(watching.unwrap()).unwrap();
    kill_process(Pid::from_raw(watching).unwrap(), Signal::TERM).unwrap();
    tmux.shows("ended with 0");
    assert!(!tmux.is_taken());
    let replayed = laboratory.run(&["watch", "--replay", &file, "--once"]);
    let replayed = replayed.with_code(0);
    assert!(replayed.stdout.contains("NODE"), "{}", replayed.stdout);
    assert_eq!(replayed.stderr, "");
}

#[test]
fn who_wants_no_colours_gets_none() {
    let laboratory = Laboratory::new();
    let test = "who_wants_no_colours_gets_none";
    let colours = |launcher: &[&str]| {
        let mut laboratory = Laboratory::new();
        laboratory.launch_behind(launcher);
        let tmux = Tmux::start(&laboratory, test, LARGE, &["watch"])?;
        tmux.shows("NODE");
        let screen = tmux.screen_with_colours();
        // SGR 30 to 49 and 90 to 107 set colours; bold and reversed text is none.
        let sequences = screen
            .split("\u{1b}[")
            .skip(1)
            .filter_map(|it| it.split('m').next());
        let codes = sequences.flat_map(|it| it.split(';'));
        let codes: Vec<u32> = codes.filter_map(|code| code.parse().ok()).collect();
        let is_colour = |code: &u32| (30..39).contains(code) || (40..49).contains(code);
        Some(codes.iter().any(is_colour))
    };
    let Some(with) = colours(&["env", "NO_COLOR="]) else {
        return;
    };
    assert!(with);
    assert_eq!(colours(&["env", "NO_COLOR=1"]), Some(false));
    drop(laboratory);
}
