//! Pictures of what was measured and found: pure functions of the model's types, each an SVG in its
//! figure. The colours of the page are custom properties; those of figures are the same on every
//! page ([docs/pictures.md](../../../../docs/pictures.md)).

mod balance_course;
mod bandwidth_matrix;
mod buffer_map;
mod chart;
mod colours;
mod dendrogram;
mod depth_curve;
mod flow;
mod heat_map;
mod hover;
mod latency_matrix;
mod loaded_latency;
mod locality;
mod picture;
mod relation_map;
mod run_svg;
mod squares;
mod time_bars;
mod touch_map;
mod tree;
mod trial_axis;
mod trial_dots;

pub use balance_course::balance_course;
pub use bandwidth_matrix::bandwidth_matrix;
pub use buffer_map::{MOVE_SCRIPT, buffer_map, move_map};
pub(crate) use colours::Ramp;
pub use depth_curve::depth_curve;
pub use flow::flow;
pub(crate) use hover::{HOVER_SCRIPT, HOVER_STYLE};
pub use latency_matrix::{latency_matrix, measured_by_firmware};
pub use loaded_latency::{OperatingPoint, loaded_latency};
pub use picture::PICTURE_STYLE;
pub(crate) use picture::palette;
pub use relation_map::relation_map;
pub use run_svg::run_svg;
pub use time_bars::{compared_time_bars, time_bars};
pub use touch_map::touch_map;
pub use trial_dots::{compared_trial_dots, trial_dots};
