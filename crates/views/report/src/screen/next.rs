//! What to do next: three commands that can be pasted, chosen by the results.

use model::{Metric, Run, RunStatus, shell_word};
use unicode_width::UnicodeWidthStr;
use verdict::{Judgement, TRIALS_ENOUGH, Verdict, is_emulated};

use crate::form::plain::plain;
use crate::form::style::TextOptions;
use crate::verdict_words::too_few::rounds_s;

/// Maximum number of commands shown.
const SHOWN: usize = 3;
/// Maximum width of the column of commands.
const COMMAND_COLUMNS: usize = 42;
/// Number of rounds suggested where five did not make an interval narrow.
const ROUNDS_MANY: usize = 20;
/// Detectable difference above which a tie is worth more rounds.
const WORTH_MORE: f64 = 0.05;

/// The names under which the user knows a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// The run, for `show` and `explain`: its id, or `last`.
    pub run: String,
    /// The argument to `numalab run` that repeats it; `None` where unknown.
    pub again: Option<String>,
}

/// The candidate commands, by purpose.
#[derive(Debug, Default)]
pub(crate) struct Next {
    full: Option<Command>,
    explain: Option<Command>,
    more_rounds: Option<Command>,
    latency: bool,
    list: bool,
}

type Command = (String, &'static str);

impl Next {
    /// Adds the commands that a run suggests. Of several runs, the first to suggest a kind of
    /// command wins.
    pub(crate) fn add(&mut self, run: &Run, judgement: &Judgement, called: &Called) {
        let Some(name) = pasted(&called.run) else {
            return;
        };
        let has_trials = run.cases.iter().any(|case| !case.trials.is_empty());
        if has_trials && self.full.is_none() {
            let about = match run.status {
                RunStatus::Imported => "all that was imported",
                _ => "load profile, events and evidence",
            };
            self.full = Some((format!("numalab show {name} --full"), about));
        }
        let differs = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
        let differ = judgement.comparisons.iter().any(|it| differs(it.verdict));
        let is_split = run.metric == Metric::LogicalReadsPerSecond && !is_emulated(run);
        if differ && is_split && self.explain.is_none() {
            let about = "why one is faster than another";
            self.explain = Some((format!("numalab explain {name}"), about));
        }
        if self.more_rounds.is_none() {
            self.more_rounds = more_rounds(run, judgement, called);
        }
    }

    /// Suggests the latency matrix, because it has findings.
    pub(crate) fn look_at_latency(&mut self) {
        self.latency = true;
    }

    /// Suggests `numalab list` if some cases or experiments could not run.
    pub(crate) fn cannot_run(&mut self, count: usize) {
        self.list |= count > 0;
    }

    /// Returns the commands, after an empty line and a title.
    pub(crate) fn lines(&self, options: &TextOptions) -> Vec<String> {
        let latency = ("numalab latency", "how far memory is from each node");
        let list = ("numalab list", "what these experiments need");
        let questions = ("numalab list", "other questions to ask");
        let doctor = ("numalab doctor", "placement problems and fixes");
        let owned = |(command, about): (&str, &'static str)| (command.to_owned(), about);
        let mut commands: Vec<Command> = Vec::new();
        commands.extend(self.full.clone());
        commands.extend(self.more_rounds.clone());
        commands.extend(self.explain.clone());
        commands.extend(self.latency.then(|| owned(latency)));
        commands.push(owned(match self.list {
            true => list,
            false => questions,
        }));
        commands.push(owned(doctor));
        commands.retain(|(command, _)| command.width() + 2 <= options.columns());
        commands.truncate(SHOWN);
        let widest = commands.iter().map(|(command, _)| command.width()).max();
        let widest = widest.unwrap_or(0).min(COMMAND_COLUMNS);
        let mut lines = vec![String::new(), options.heading("Next").trim_end().to_owned()];
        for (command, about) in commands {
            let pad = " ".repeat(widest.saturating_sub(command.width()));
            let line = format!("  {command}{pad}  {about}");
            // A command is never truncated; its description is dropped first.
            lines.push(match line.width() <= options.columns() {
                true => line,
                false => format!("  {command}"),
            });
        }
        lines
    }
}

/// Suggests a repetition with more rounds, where there were too few for a result.
fn more_rounds(run: &Run, judgement: &Judgement, called: &Called) -> Option<Command> {
    let name = pasted(called.again.as_deref()?)?;
    if is_emulated(run) || run.cases.len() < 2 {
        return None;
    }
    let cases = judgement.cases.iter();
    let lack_time = |it: &Verdict| *it == Verdict::Undecided;
    let mut verdicts = judgement.comparisons.iter().map(|it| it.verdict);
    let few = cases
        .clone()
        .any(|it| it.valid < TRIALS_ENOUGH && it.valid == it.trials());
    if few && verdicts.any(|it| lack_time(&it)) {
        let seconds = rounds_s(run, TRIALS_ENOUGH)?;
        let command = format!("numalab run {name} --within {seconds}");
        return Some((command, "time enough for 5 rounds"));
    }
    let hides = judgement.comparisons.iter().any(|it| {
        let ratio = it.ratio.filter(|_| it.verdict == Verdict::Tie);
        ratio.is_some_and(|ratio| ratio.difference_below() > WORTH_MORE)
    });
    let most = cases.map(|case| case.valid).max()?;
    if !hides {
        return None;
    }
    if most >= ROUNDS_MANY {
        let command = format!("numalab run {name} --trials {}", most * 4);
        return Some((command, "intervals half as wide"));
    }
    let seconds = rounds_s(run, ROUNDS_MANY)?;
    let command = format!("numalab run {name} --within {seconds}");
    Some((command, "more rounds, narrower intervals"))
}

/// Quotes a name for a shell; returns `None` where it cannot be pasted, because it would not be
/// shown as it is.
fn pasted(name: &str) -> Option<String> {
    (!name.is_empty() && plain(name) == name).then(|| shell_word(name).into_owned())
}
