//! What can be asked of a row: commands of numalab that change nothing. Each is shown as the user
//! could type it.

use model::shell_word;

use crate::subjects::Identity;

/// A command that a key asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Action {
    pub(crate) key: char,
    /// What it answers.
    pub(crate) meaning: &'static str,
    /// The words before the target.
    words: &'static [&'static str],
    /// Whether it can be asked of the whole machine.
    is_of_machine: bool,
    /// Whether the answer is shown from its plan on.
    pub(crate) is_plan: bool,
}

/// All of them.
pub(crate) const ACTIONS: [Action; 3] = [
    Action {
        key: 'i',
        meaning: "numalab inspect: where its memory lies, every page",
        words: &["inspect"],
        is_of_machine: false,
        is_plan: false,
    },
    Action {
        key: 'd',
        meaning: "numalab doctor: what is wrong, with all checks",
        words: &["doctor", "--full"],
        is_of_machine: true,
        is_plan: false,
    },
    Action {
        key: 'p',
        meaning: "numalab doctor: the plan, which nothing here carries out",
        words: &["doctor"],
        is_of_machine: true,
        is_plan: true,
    },
];

impl Action {
    /// The action of a key.
    pub(crate) fn of(key: char) -> Option<&'static Action> {
        ACTIONS.iter().find(|it| it.key == key)
    }

    /// The arguments that ask it of a target, or of the machine; `None` where that makes no sense.
    pub(crate) fn arguments(&self, target: Option<String>) -> Option<Vec<String>> {
        let may_be = target.is_some() || self.is_of_machine;
        let words = self.words.iter().map(|&word| word.to_owned());
        may_be.then(|| words.chain(target).collect())
    }
}

/// The name of a row by which commands know it.
pub(crate) fn target(identity: &Identity) -> String {
    match identity {
        Identity::Process(pid, _) => pid.to_string(),
        Identity::Instance(name) => name.clone(),
    }
}

/// The command as the user could type it: each argument is one word of a shell.
pub(crate) fn command(arguments: &[String]) -> String {
    let words = arguments.iter().map(|it| shell_word(it).to_string());
    let words = std::iter::once("numalab".to_owned()).chain(words);
    words.collect::<Vec<_>>().join(" ")
}

/// A command that was asked for, and what it said.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) command: String,
    /// `None` until it has ended.
    pub(crate) lines: Option<Vec<String>>,
    /// Whether it is shown from its plan on.
    pub(crate) is_plan: bool,
}
