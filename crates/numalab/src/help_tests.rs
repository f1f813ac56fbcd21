//! Tests of the command table. Every command says in one imperative line what it does, then which
//! question it answers, and has an example that it accepts. What is hidden is hidden on purpose.
//! `docs/reference/` has the help of every command.

use clap::{Command, CommandFactory, Parser};

use crate::arguments::commands::Arguments;
use crate::commands::internal;

/// Commands with which numalab starts itself.
const HIDDEN_COMMANDS: [&str; 5] = [
    internal::INSTANCE,
    internal::SERVER,
    internal::COMMAND,
    internal::GUARDIAN,
    internal::SESSION,
];
/// Options that numalab passes to itself, each after its command.
const HIDDEN_OPTIONS: [&str; 2] = ["bind in_scope", "run in_scope"];

/// Maximum length of the first line of a help text.
const ABOUT_MAX: usize = 70;
/// The width of the texts in `docs/reference/`.
const WIDTH: usize = 80;

/// A command with the words that lead to it.
type Found = (Vec<String>, Command);

/// Returns every command of the table, subcommands included.
fn commands() -> Vec<Found> {
    let mut found = Vec::new();
    let mut table = Arguments::command().term_width(WIDTH);
    table.build();
    below(&[], &table, &mut found);
    found
}

fn below(words: &[String], parent: &Command, found: &mut Vec<Found>) {
    for command in parent.get_subcommands() {
        let words = [words, &[command.get_name().to_owned()]].concat();
        below(&words, command, found);
        found.push((words, command.clone()));
    }
}

fn is_shown((_, command): &Found) -> bool {
    !command.is_hide_set()
}

#[test]
fn the_help_lists_every_command_but_the_hidden_ones() {
    let mut table = Arguments::command();
    let help = table.render_long_help().to_string();
    let (_, listed) = help.split_once("Commands:\n").unwrap();
    let listed = listed.split("\n\n").next().unwrap();
    let is_listed = |name: &str| {
        let mut lines = listed.lines();
        lines.any(|line| {
            line.strip_prefix("  ")
                .is_some_and(|it| it.split(' ').next() == Some(name))
        })
    };
    for command in table.get_subcommands() {
        let name = command.get_name();
        assert_eq!(
            is_listed(name),
            !HIDDEN_COMMANDS.contains(&name),
            "{name}: {listed}"
        );
        assert_eq!(
            command.is_hide_set(),
            HIDDEN_COMMANDS.contains(&name),
            "{name}"
        );
    }
    for name in HIDDEN_COMMANDS {
        assert!(
            table.find_subcommand(name).is_some() && !help.contains(name),
            "{name}"
        );
    }
}

#[test]
fn options_are_explained_or_hidden_on_purpose() {
    let mut hidden = Vec::new();
    for (words, command) in commands().into_iter().filter(is_shown) {
        for option in command.get_arguments() {
            let name = format!("{} {}", words.join(" "), option.get_id());
            match option.is_hide_set() {
                true => hidden.push(name),
                false => assert!(option.get_help().is_some(), "{name} says nothing"),
            }
        }
    }
    assert_eq!(hidden, HIDDEN_OPTIONS);
}

#[test]
fn the_first_line_says_what_a_command_does_and_fits_a_line() {
    for (words, command) in commands().into_iter().filter(is_shown) {
        let about = command.get_about().map(ToString::to_string);
        let about = about.unwrap_or_default();
        let said = format!("{words:?}: {about}");
        assert!(
            about.starts_with(|it: char| it.is_ascii_uppercase()),
            "{said}"
        );
        assert!(about.len() <= ABOUT_MAX && !about.contains('?'), "{said}");
        if words.len() == 1 {
            let long = command.get_long_about().map(ToString::to_string);
            let long = long.unwrap_or_else(|| panic!("{said}: no word more"));
            assert!(long.contains("\n\n"), "{said}: {long}");
        }
    }
}

#[test]
fn the_reference_has_the_help_of_every_command() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
    let folder = std::path::Path::new(folder);
    let mut names = std::collections::BTreeSet::new();
    let mut all = vec![(Vec::new(), Arguments::command().term_width(WIDTH))];
    all.extend(commands().into_iter().filter(is_shown));
    for (words, mut command) in all {
        let name = [&["numalab".to_owned()], words.as_slice()]
            .concat()
            .join("-");
        let name = format!("{name}.txt");
        testing::golden::check_file(&folder.join(&name), &command.render_long_help().to_string());
        names.insert(name);
    }
    let entries = std::fs::read_dir(folder).unwrap();
    let there: std::collections::BTreeSet<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(there, names);
}

#[test]
fn numalab_understands_what_it_says_to_itself() {
    for words in [&["numalab", "run"][..], &["numalab", "bind", "-N", "0"]] {
        let words = [words, &[crate::moving::scope::IN_SCOPE, "true"]].concat();
        if let Err(error) = Arguments::try_parse_from(&words) {
            panic!("{words:?}: {error}");
        }
    }
}

#[test]
fn every_example_is_understood_by_its_command() {
    for (words, command) in commands().into_iter().filter(is_shown) {
        if command.has_subcommands() && command.is_subcommand_required_set() {
            assert!(command.get_about().is_some(), "{words:?}");
            continue;
        }
        let example = command.get_after_help().map(ToString::to_string);
        let example = example.unwrap_or_default();
        let line = example.strip_prefix("Example: ");
        let line = line.unwrap_or_else(|| panic!("{words:?} has no example: {example:?}"));
        let given: Vec<&str> = line.split(' ').collect();
        let beginning = ["numalab"]
            .into_iter()
            .chain(words.iter().map(String::as_str));
        assert!(
            given.iter().copied().take(words.len() + 1).eq(beginning),
            "{line}"
        );
        if let Err(error) = Arguments::try_parse_from(given) {
            panic!("{line}: {error}");
        }
    }
}

#[test]
fn units_for_systemd_start_commands_that_exist() {
    for unit in [
        include_str!("../../../packaging/numalab-serve.service"),
        include_str!("../../../packaging/numalab-metrics.service"),
    ] {
        let mut lines = unit.lines();
        let line = lines.find_map(|line| line.strip_prefix("ExecStart="));
        // What the administrator adds.
        let words = line.unwrap().split(' ').filter(|word| *word != "$OPTIONS");
        if let Err(error) = Arguments::try_parse_from(words) {
            panic!("{unit}: {error}");
        }
    }
}
