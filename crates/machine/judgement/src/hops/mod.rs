//! Judges measured latencies: which nodes measure alike, and where the firmware's distances
//! disagree. Pure; reads matrices that were measured elsewhere, as text. The findings on them are
//! in [`crate::findings`].

mod bandwidth_file;
mod classes;
mod curve_levels;
mod distance_file;
pub(crate) mod figures;
mod links;
mod matrix_file;
mod matrix_json;
mod matrix_mlc;
mod matrix_table;
mod matrix_words;
mod packages;
pub(crate) mod pairs;
pub(crate) mod row_against_firmware;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod scale;

pub use bandwidth_file::bandwidths_of_file;
pub use classes::{CLASS_SPREAD_SHARE, GAP_SHARE, hop_classes};
pub(crate) use classes::{Measured, classes_of_row};
pub use curve_levels::curve_levels;
pub use distance_file::distances_of_file;
pub use links::links;
pub use matrix_file::matrix_of_file;
pub use matrix_words::MatrixFile;
pub use packages::packages_by_node;
pub(crate) use row_against_firmware::only_remote_distance;
