//! The command line: parsing it, and what the parser has to say.

use std::ffi::OsString;

use clap::{Args, Parser};
use model::exit::ExitCode;

use crate::arguments::commands::{Arguments, Command};
use crate::output;

/// Parses the command line; ends the program on an error, and after help.
pub(crate) fn of_this_process() -> Command {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(command) = alone(&words) {
        return command;
    }
    match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments.command,
        Err(error) => end(&words, error),
    }
}

/// Prints what the parser has to say, and ends the program.
fn end(words: &[OsString], error: clap::Error) -> ! {
    let code = error.exit_code();
    if !error.use_stderr() {
        let failed = output::help(&error.render()).is_err();
        std::process::exit(if failed {
            i32::from(ExitCode::Bug.number())
        } else {
            code
        });
    }
    // An error repeats words, which may be names of files that others chose (`*.html`). Escaped
    // words have the same error.
    let escaped = words
        .iter()
        .map(|word| report::plain(&word.to_string_lossy()));
    let again = Arguments::try_parse_from(escaped).err();
    let again = again.filter(|again| again.kind() == error.kind());
    output::talk_lines(&as_ours(&again.unwrap_or(error).render().to_string()));
    std::process::exit(code)
}

/// The parser's text in the form of all other errors: `numalab: …`, and `  hint: …`.
fn as_ours(text: &str) -> String {
    let lines = text.trim_end().lines().enumerate().map(|(at, line)| {
        let word = if at == 0 { "error: " } else { "  tip: " };
        let ours = if at == 0 { "numalab: " } else { "  hint: " };
        line.strip_prefix(word)
            .map_or(line.to_owned(), |rest| format!("{ours}{rest}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Parses the command line of a command that is compared with a peer which starts fast, without the
/// options of all other commands: to make those takes half as long as numactl takes in all. `None`
/// for another command, and for one that is not right.
fn alone(words: &[OsString]) -> Option<Command> {
    let words = words.get(1..)?;
    match words.first()?.to_str()? {
        "bind" => Some(Command::Bind(Box::new(arguments_of(words)?))),
        "history" => arguments_of(words).map(Command::History),
        "inspect" => arguments_of(words).map(Command::Inspect),
        "move" => arguments_of(words).map(Command::Move),
        "topology" => arguments_of(words).map(Command::Topology),
        "undo" => arguments_of(words).map(Command::Undo),
        _ => None,
    }
}

/// The arguments that follow the name of a command; `None` if they are not right.
fn arguments_of<A: Args>(words: &[OsString]) -> Option<A> {
    let command = clap::Command::new("numalab").version(env!("CARGO_PKG_VERSION"));
    let matches = A::augment_args(command).try_get_matches_from(words).ok()?;
    A::from_arg_matches(&matches).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_parser_says_has_the_form_of_all_errors() {
        for words in [
            &["numalab", "undo", "x"][..],
            &["numalab", "undo", "--forse"],
            &["numalab", "no-such-command"],
            &["numalab", "bind"],
        ] {
            let error = Arguments::try_parse_from(words).unwrap_err();
            let said = as_ours(&error.render().to_string());
            assert!(said.starts_with("numalab: "), "{said}");
            assert!(
                !said.contains("error: ") && !said.contains("tip: "),
                "{said}"
            );
        }
        let mistyped = Arguments::try_parse_from(["numalab", "undo", "--forse"]).unwrap_err();
        let said = as_ours(&mistyped.render().to_string());
        assert!(
            said.contains("\n  hint: a similar argument exists: '--force'"),
            "{said}"
        );
    }

    #[test]
    fn a_command_alone_is_what_it_is_among_all() {
        let check = |line: &str, is_right: bool| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let all = Arguments::try_parse_from(&words);
            let alone = alone(&words).map(|it| format!("{it:?}"));
            assert_eq!(alone.is_some(), is_right, "{line}");
            if let Some(alone) = alone {
                assert_eq!(alone, format!("{:?}", all.unwrap().command));
            }
        };
        check("numalab bind --membind 0 -- true", true);
        check(
            "numalab bind -N 0 -m 0-1 --verify -- postgres -D /data",
            true,
        );
        check("numalab history", true);
        check("numalab history --limit 3 --json", true);
        check("numalab inspect 17 --only-shared --sample", true);
        check("numalab move 17 --to spread=0:2,1:1 --mib-per-s 8", true);
        check("numalab topology --cpus --root /", true);
        check("numalab undo --force", true);
        // These end in the words of the whole command line, and its exit codes.
        check("numalab move 17", false);
        check("numalab move --help", false);
        check("numalab undo --no-such-option", false);
        check("numalab list", false);
        check("numalab bind --membind", false);
        check("numalab bind --help", false);
        check("numalab bind --version", false);
        check("numalab bind --membind x -- true", false);
        check("numalab list bind", false);
        check("numalab", false);
    }
}
