//! Progress of a move on stderr: a bar on a terminal, else lines, rarely. Both say how long the
//! rest takes, by what the first and the last batches of the target itself took.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::ByteSize;
use relocation::MoveSpeed;

use crate::output;

/// A move that takes less is over before anyone has read how long it takes, in seconds.
const SECONDS_MIN: f64 = 2.0;

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Shows the progress of a move.
pub(crate) struct MoveProgress {
    bar: ProgressBar,
    speed: MoveSpeed,
    bytes_all: u64,
    began: Instant,
    is_terminal: bool,
    /// When the last line was written.
    told: Option<Instant>,
}

impl MoveProgress {
    /// That of a move of so many bytes, at most so many in a second, which begins now.
    pub(crate) fn on_stderr(bytes_all: u64, bytes_per_s: Option<u64>) -> Self {
        let bar = ProgressBar::hidden();
        bar.set_length(bytes_all);
        let is_terminal = std::io::stderr().is_terminal();
        if is_terminal {
            let template = "moving {bar:24} {bytes}/{total_bytes}  {bytes_per_sec}  {msg}";
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.expect("the template is a constant that indicatif accepts"));
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        MoveProgress {
            bar,
            speed: MoveSpeed::of(bytes_all, bytes_per_s),
            bytes_all,
            began: Instant::now(),
            is_terminal,
            told: None,
        }
    }

    /// Shows that so many bytes have been handled.
    pub(crate) fn at(&mut self, bytes: u64) {
        self.bar.set_position(bytes);
        self.speed.add(self.began.elapsed().as_secs_f64(), bytes);
        let Some(left) = self.speed.left() else {
            return;
        };
        let words = report::time_left(left.least_s, left.most_s);
        if self.is_terminal {
            self.bar.set_message(words);
            return;
        }
        let is_due = match self.told {
            None => left.most_s >= SECONDS_MIN,
            Some(told) => told.elapsed() >= LINE_EVERY,
        };
        if is_due {
            let (done, all) = (ByteSize(self.speed.bytes()), ByteSize(self.bytes_all));
            output::talk(&format!("moved {done} of {all}; {words}"));
            self.told = Some(Instant::now());
        }
    }

    /// Takes the bar from the terminal.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}
