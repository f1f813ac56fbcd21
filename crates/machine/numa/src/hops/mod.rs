//! Judges measured latencies: which nodes are alike, and where the firmware's distances do not say
//! so. Pure; reads matrices that were measured elsewhere, as text.

mod asymmetry;
mod classes;
mod curve_levels;
mod distance_file;
mod figures;
mod firmware_table;
mod judge;
mod links;
mod local;
mod matrix_file;
mod matrix_json;
mod matrix_mlc;
mod matrix_table;
mod pairs;
mod row_against_firmware;
mod scale;

pub use classes::{CLASS_SPREAD_SHARE, GAP_SHARE, hop_classes};
pub use curve_levels::curve_levels;
pub use distance_file::distances_of_file;
pub use judge::{FINDINGS, FindingFacts, judge, packages_by_node};
pub use links::links;
pub use matrix_file::{MatrixFile, matrix_of_file};
