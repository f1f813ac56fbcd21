//! Progress on stderr if it is a terminal: one line, redrawn in place, with the round, the time
//! left, the current case, and the leading comparison so far.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use model::{Event, Metric, Observer, ObserverError, Phase, Run, Trial, counted};

use crate::output;

/// Columns if the terminal does not report them.
const COLUMNS: usize = 80;

/// Shows the progress of a run on stderr.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The run so far, if progress is shown.
    run: Option<Run>,
    line: Line,
    /// Whether it was said what was read of a program's output.
    has_told_number: bool,
}

/// The parts of the line.
#[derive(Debug, Default)]
struct Line {
    round: u32,
    rounds_at_most: u32,
    seconds_left: f64,
    case: String,
    phase: &'static str,
    leading: Option<String>,
}

impl Line {
    /// Returns as much of the line as fits: parts are shortened, then left out.
    fn text(&self, columns: usize) -> String {
        let (round, most) = (self.round, self.rounds_at_most);
        let left = match self.seconds_left {
            120.0.. => format!("{:.0} min left", self.seconds_left / 60.0),
            seconds => format!("{:.0} s left", seconds.max(0.0)),
        };
        let long = format!("round {round} of at most {most}, {left}");
        let short = format!("round {round}/{most}, {left}");
        let leading = match &self.leading {
            Some(leading) => format!("; {leading}"),
            None => String::new(),
        };
        let (case, phase) = (&self.case, self.phase);
        let lines = [
            format!("{long}; {case}: {phase}{leading}"),
            format!("{long}; {case}{leading}"),
            format!("{short}; {case}{leading}"),
            format!("{short}{leading}"),
        ];
        let mut lines = lines.into_iter();
        lines
            .find(|line| line.chars().count() <= columns)
            .unwrap_or(short)
    }
}

impl Progress {
    /// Creates a line if stderr is a terminal, else a hidden one.
    pub(crate) fn on_stderr() -> Self {
        let bar = line_on_stderr();
        Progress {
            bar,
            run: None,
            line: Line::default(),
            has_told_number: false,
        }
    }

    fn draw(&self) {
        let columns = linux::process::terminal_columns(std::io::stderr());
        // Some terminals break a line that fills the last column.
        let columns = columns.unwrap_or(COLUMNS).saturating_sub(1);
        let line = report::plain(&self.line.text(columns));
        self.bar.set_message(line);
    }

    /// Says what was read of a program's output in the first trial: a wrong expression is seen
    /// before hours of trials.
    fn tell_number_read(&mut self, case: &str, trial: &Trial) {
        if let (false, Some(read)) = (self.has_told_number, &trial.evidence.number_read) {
            self.has_told_number = true;
            let line = format!("{case}: read {read}");
            self.bar.suspend(|| output::talk(&line));
        }
    }

    /// Keeps a trial. The ratio is computed when a round has ended, never during a window.
    fn keep(&mut self, case_index: usize, trial: &Trial) {
        let Some(run) = &mut self.run else {
            return;
        };
        let Some(case) = run.cases.get_mut(case_index) else {
            return;
        };
        case.trials.push(trial.clone());
        let mut last = run.cases.iter().map(|case| case.trials.last());
        if last.all(|last| last.is_some_and(|it| it.round == trial.round)) {
            self.line.leading = report::leading_comparison(run);
        }
    }
}

/// Creates a line for messages if stderr is a terminal, else a hidden one.
pub(crate) fn line_on_stderr() -> ProgressBar {
    let line = ProgressBar::hidden();
    if std::io::stderr().is_terminal() {
        let style = ProgressStyle::with_template("{wide_msg}");
        line.set_style(style.expect("the template is a constant that indicatif accepts"));
        line.set_draw_target(indicatif::ProgressDrawTarget::stderr());
    }
    line
}

impl Observer for Progress {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), ObserverError> {
        if let Event::TrialFinished { case, trial, .. } = event {
            self.tell_number_read(case, trial);
        }
        if self.bar.is_hidden() {
            return Ok(());
        }
        match event {
            Event::RunStarted {
                run,
                trials_at_most,
            } => {
                let cases = u32::try_from(run.cases.len()).unwrap_or(u32::MAX);
                self.line.rounds_at_most = trials_at_most.div_ceil(cases.max(1));
                self.run = Some((*run).clone());
            }
            Event::CalibrationPoint(point) => {
                let rows = point.work_unit;
                let rate = millions(point.logical_reads_per_s);
                self.bar.set_message(format!(
                    "calibrating: {} a statement, {rate}",
                    counted(rows, "row")
                ));
            }
            Event::TrialStarted {
                case,
                round,
                seconds_left,
                ..
            } => {
                self.line.case = (*case).to_owned();
                self.line.round = round + 1;
                self.line.seconds_left = *seconds_left;
                self.line.phase = "loading";
                self.draw();
            }
            Event::TrialProgress { phase, .. } => {
                let phase = match phase {
                    Phase::Loading => "loading",
                    Phase::WarmingUp => "warming up",
                    Phase::Measuring => "measuring",
                };
                // An unchanged line is not redrawn while a window is measured.
                if self.line.phase != phase {
                    self.line.phase = phase;
                    self.draw();
                }
            }
            Event::TrialFinished {
                case_index, trial, ..
            } => self.keep(*case_index, trial),
            Event::Calibrated(_) => {}
            Event::RunFinished { .. } => self.bar.finish_and_clear(),
        }
        Ok(())
    }
}

/// Formats a rate for people, in millions from one million on.
fn millions(logical_reads_per_s: f64) -> String {
    let unit = Metric::LogicalReadsPerSecond.facts().shown_unit;
    match logical_reads_per_s {
        1e6.. => format!("{:.2} M {unit}", logical_reads_per_s / 1e6),
        _ => format!("{logical_reads_per_s:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn the_line_says_as_much_as_fits() {
        let mut line = Line {
            round: 3,
            rounds_at_most: 20,
            seconds_left: 54.4,
            case: "binding-no-pressure".to_owned(),
            phase: "measuring",
            leading: None,
        };
        let check = |line: &Line, columns, expected: &str| assert_eq!(line.text(columns), expected);
        let whole = "round 3 of at most 20, 54 s left; binding-no-pressure: measuring";
        check(&line, 79, whole);
        line.leading = Some("free 2.26 (1.76 to 2.73)".to_owned());
        let leading = "; binding-no-pressure; free 2.26 (1.76 to 2.73)";
        check(
            &line,
            79,
            &format!("round 3 of at most 20, 54 s left{leading}"),
        );
        check(&line, 70, &format!("round 3/20, 54 s left{leading}"));
        check(&line, 50, "round 3/20, 54 s left; free 2.26 (1.76 to 2.73)");
        check(&line, 30, "round 3/20, 54 s left");
        line.seconds_left = 600.0;
        check(&line, 30, "round 3/20, 10 min left");
    }
}
