//! What `numalab watch` does between the machine, a recording and the screen.

pub(crate) mod headless;
mod questions;
mod recording_file;
pub(crate) mod replay;
mod sampling;
pub(crate) mod screen;
mod sessions;
mod shown;

pub(crate) use questions::Questions;
pub(crate) use recording_file::RecordingFile;
pub(crate) use sampling::{Pace, Sample, Sampling};
pub(crate) use sessions::Sessions;
pub(crate) use shown::Shown;
