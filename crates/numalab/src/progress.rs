//! The progress bar: case, trial, live rate and time left, on stderr when it is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use model::{Event, Metric, Observer, ObserverError, Phase};

/// Shows a run on stderr.
pub struct Progress {
    bar: ProgressBar,
    case: String,
    metric: Metric,
}

impl Progress {
    /// A bar when stderr is a terminal, else nothing.
    pub fn on_stderr() -> Self {
        let bar = ProgressBar::hidden();
        if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{prefix:<28} {bar:24} {pos}/{len}  {msg}");
            bar.set_style(style.expect("the template is a constant that indicatif accepts"));
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        Progress {
            bar,
            case: String::new(),
            metric: Metric::LogicalReadsPerSecond,
        }
    }
}

/// A bar of bytes when stderr is a terminal, else nothing.
pub fn bytes_on_stderr(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::hidden();
    bar.set_length(bytes);
    if std::io::stderr().is_terminal() {
        let template = "moving {bar:24} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left";
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.expect("the template is a constant that indicatif accepts"));
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
    }
    bar
}

impl Observer for Progress {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), ObserverError> {
        match event {
            Event::RunStarted {
                run,
                trials_at_most,
            } => {
                self.bar.set_length(u64::from(*trials_at_most));
                self.bar.set_prefix(run.experiment.clone());
                self.metric = run.metric;
            }
            Event::CalibrationPoint(point) => {
                let rate = value_text(
                    Metric::LogicalReadsPerSecond,
                    Some(point.logical_reads_per_s),
                );
                let work_unit = point.work_unit;
                self.bar
                    .set_message(format!("calibrating: {work_unit} rows a statement, {rate}"));
            }
            Event::TrialStarted {
                case,
                round,
                trials_done,
                seconds_left,
            } => {
                self.bar.set_position(u64::from(*trials_done));
                let left = format!("at most {:.0} s left", seconds_left.max(0.0));
                self.case = format!("{case}, round {}, {left}", round + 1);
                self.bar.set_message(self.case.clone());
            }
            Event::TrialProgress { phase, value } => {
                let phase = match phase {
                    Phase::Loading => "loading",
                    Phase::WarmingUp => "warming up",
                    Phase::Measuring => "measuring",
                };
                let value = value_text(self.metric, *value);
                self.bar
                    .set_message(format!("{}: {phase} {value}", self.case));
            }
            Event::TrialFinished { .. } => self.bar.inc(1),
            Event::Calibrated(_) => {}
            Event::RunFinished { .. } => self.bar.finish_and_clear(),
        }
        Ok(())
    }
}

/// A live figure in the unit that people are shown, in millions where there are millions.
fn value_text(metric: Metric, value: Option<f64>) -> String {
    let facts = metric.facts();
    value.map_or_else(String::new, |value| {
        let (shown, unit) = (value / facts.shown_unit_is, facts.shown_unit);
        match shown {
            1e6.. => format!("{:.2} M {unit}", shown / 1e6),
            _ => format!("{shown:.2} {unit}"),
        }
    })
}
