//! Man pages and completions for shells, made of the command table. Only tests have this module, so
//! that the program does not carry it: `cargo xtask package` has
//! [`tests::man_pages_and_completions_are_written`] write them.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::arguments::commands::Arguments;

/// The section of commands.
const SECTION: &str = "1";
/// The shells that have completions.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes a page for each command and a completion for each shell into an existing folder.
fn write(folder: &Path) -> io::Result<()> {
    let mut table = Arguments::command();
    table.build();
    write_pages(&table, folder)?;
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut shown(&Arguments::command()), "numalab", folder)?;
    }
    Ok(())
}

fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for command in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write_pages(command, folder)?;
    }
    let man = Man::new(command.clone())
        .section(SECTION)
        .source(format!("numalab {}", env!("CARGO_PKG_VERSION")))
        .manual("numalab")
        // The date of a page would be that of its making, and every making another page.
        .date("");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|it| !it.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_help().map(ToString::to_string);
    write_after_help(&after.unwrap_or_default(), &mut page)?;
    write_see_also(command, &mut page)?;
    fs::write(folder.join(man.get_filename()), page)
}

/// Writes what follows the options, the example or the exit codes, line by line below the heading
/// that it has in man pages.
fn write_after_help(text: &str, page: &mut impl Write) -> io::Result<()> {
    let headings = [("Example: ", "EXAMPLES"), ("Exit codes:\n", "EXIT STATUS")];
    let found = headings
        .iter()
        .find_map(|(start, heading)| Some((text.strip_prefix(start)?, heading)));
    let Some((lines, heading)) = found else {
        return Ok(());
    };
    writeln!(page, ".SH \"{heading}\"\n.nf")?;
    for line in lines.lines() {
        writeln!(page, "\\&{}", literal(line))?;
    }
    writeln!(page, ".fi")
}

/// Names the page of the command above, or those of the commands.
fn write_see_also(command: &Command, page: &mut impl Write) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    match name.rsplit_once('-') {
        Some((above, _)) => {
            writeln!(page, ".SH \"SEE ALSO\"\n.BR {} ({SECTION})", literal(above))
        }
        None => Ok(()),
    }
}

/// Text of which the formatter keeps every character.
fn literal(text: &str) -> String {
    text.replace('\\', "\\(rs").replace('-', "\\-")
}

/// Returns a command without what is hidden, which completions would offer, and without groups, of
/// which they know nothing.
fn shown(command: &Command) -> Command {
    let name: &str = String::leak(command.get_name().to_owned());
    let about = command.get_about().cloned().unwrap_or_default();
    let arguments = command.get_arguments().filter(|it| !it.is_hide_set());
    let commands = command.get_subcommands().filter(|it| !it.is_hide_set());
    Command::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .disable_help_subcommand(true)
        .about(about)
        .args(arguments.cloned())
        .subcommands(commands.map(shown))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;
    use std::process::{Command as Program, Output, Stdio};

    use testing::{Need, not_run};

    use super::*;

    /// The variable with the folder into which `cargo xtask package` has the texts written.
    const FOLDER: &str = "NUMALAB_PACKAGED_TEXTS";

    fn written() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        folder
    }

    fn names(folder: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    fn pages(folder: &Path) -> Vec<PathBuf> {
        let names = names(folder).into_iter();
        let pages = names.filter(|name| name.ends_with(".1"));
        pages.map(|name| folder.join(name)).collect()
    }

    /// Runs a program to its end with a text as its input; reports that `test` is not run if there
    /// is no such program.
    fn run(test: &str, program: &mut Program, input: &str) -> Option<Output> {
        let piped = program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = match piped.stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => {
                let name = program.get_program().display();
                not_run(test, Need::Package, &format!("{name}: {error}"));
                return None;
            }
        };
        let mut stdin = child.stdin.as_ref().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        Some(child.wait_with_output().unwrap())
    }

    #[test]
    fn man_pages_and_completions_are_written() {
        match std::env::var_os(FOLDER) {
            Some(folder) => write(Path::new(&folder)).unwrap(),
            None => assert!(!names(written().path()).is_empty()),
        }
    }

    #[test]
    fn every_command_has_a_page() {
        let folder = written();
        let commands = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference"));
        // A test of the help compares these names with the commands.
        let expected: BTreeSet<String> = commands
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| name.replace(".txt", ".1"))
            .collect();
        let pages = pages(folder.path());
        let found = pages.iter().map(|it| it.file_name().unwrap());
        let found: BTreeSet<String> = found.map(|it| it.to_str().unwrap().to_owned()).collect();
        assert_eq!(found, expected);
        for page in pages {
            let text = fs::read_to_string(&page).unwrap();
            assert!(!text.contains("internal"), "{}: {text}", page.display());
            let heading = match page.ends_with("numalab.1") {
                true => ".SH \"EXIT STATUS\"",
                false => ".SH \"EXAMPLES\"",
            };
            let is_group = text.contains(".SH SUBCOMMANDS");
            assert!(
                text.contains(heading) || is_group,
                "{}: {text}",
                page.display()
            );
        }
    }

    #[test]
    fn the_formatter_has_nothing_to_say_about_a_page() {
        let folder = written();
        let pages = pages(folder.path());
        let mut man = Program::new("man");
        man.args(["--warnings", "--encoding=UTF-8", "--local-file", "--"])
            .args(&pages)
            .env("MANWIDTH", "80")
            .env("MAN_DISABLE_SECCOMP", "1")
            .env("LC_ALL", "C.UTF-8");
        let name = "the_formatter_has_nothing_to_say_about_a_page";
        let Some(output) = run(name, &mut man, "") else {
            return;
        };
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert!(output.status.success());
        assert_eq!(text.matches("\nNAME\n").count(), pages.len(), "{text}");
        // Every hyphen of an example can be pasted.
        assert!(text.contains("numalab topology --cpus\n"), "{text}");
    }

    #[test]
    fn bash_completes_a_command_and_its_options_but_nothing_hidden() {
        let folder = written();
        let settings = "numalab() { printf 'typed <%s>\\n' \"$*\"; }\nPS1='$ '\n\
            bind 'set bell-style none'\nbind 'set enable-bracketed-paste off'\nsource ";
        let settings = format!(
            "{settings}'{}'\n",
            folder.path().join("numalab.bash").display()
        );
        let file = folder.path().join("settings");
        fs::write(&file, settings).unwrap();
        let mut bash = Program::new("script");
        let command = format!("bash --noprofile --rcfile '{}' -i", file.display());
        bash.args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .env("TERM", "dumb")
            .env("HISTFILE", "");
        let keys = "numalab do\t\nnumalab doctor --fail\terr\t\nnumalab internal-i\t\nexit\n";
        let name = "bash_completes_a_command_and_its_options_but_nothing_hidden";
        let Some(output) = run(name, &mut bash, keys) else {
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let typed = said.lines().filter(|line| line.starts_with("typed "));
        let typed: Vec<_> = typed.map(str::trim_end).collect();
        assert_eq!(
            typed,
            [
                "typed <doctor>",
                "typed <doctor --fail-on error>",
                "typed <internal-i>"
            ],
            "{said}"
        );
    }

    #[test]
    fn fish_completes_a_command_and_says_what_it_does() {
        let folder = written();
        let script = format!(
            "source {}; complete --do-complete 'numalab do'",
            folder.path().join("numalab.fish").display()
        );
        let mut fish = Program::new("fish");
        fish.args(["--no-config", "--command", &script])
            .env("HOME", folder.path());
        let name = "fish_completes_a_command_and_says_what_it_does";
        let Some(output) = run(name, &mut fish, "") else {
            return;
        };
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            said,
            "doctor\tDiagnose placement problems and print the fixes\n"
        );
    }

    #[test]
    fn zsh_completes_a_command_but_nothing_hidden() {
        let folder = written();
        let script = "zmodload zsh/zpty\nzpty shell zsh -f -i\n\
            zpty -w shell \"PS1= ; stty -echo; fpath=($1 \\$fpath); autoload -U compinit; \
            compinit -u -D; numalab() { print \\\"typed <\\$*>\\\" }\"\n\
            zpty -w shell $'numalab do\\t'\nzpty -w shell $'numalab internal-i\\t'\n\
            zpty -w shell exit\nwhile zpty -r shell line; do print -r -- $line; done\n";
        let mut zsh = Program::new("zsh");
        zsh.args(["-f", "-c", script, "zsh"]).arg(folder.path());
        let name = "zsh_completes_a_command_but_nothing_hidden";
        let Some(output) = run(name, &mut zsh, "") else {
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let said = format!("{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("typed <doctor>"), "{said}");
        assert!(said.contains("typed <internal-i>"), "{said}");
    }
}
