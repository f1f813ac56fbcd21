//! Judges measurements and shows them as text and as JSON. Nothing here measures or prints.
#![forbid(unsafe_code)]

mod advice;
mod balance_text;
mod bandwidth_document;
mod bandwidth_text;
mod bind_text;
mod confidence;
mod control;
mod cure_plan_text;
mod doctor_text;
mod documents;
mod dose_text;
mod explanation;
mod explanation_cost;
mod explanation_document;
mod explanation_memory;
mod explanation_text;
mod findings_text;
mod firmware_text;
mod first_touch_groups;
mod first_touch_picture;
mod first_touch_relations;
mod first_touch_sentences;
mod first_touch_text;
mod group_configuration;
mod groups_text;
mod history;
mod judgement;
mod judgement_cases;
mod latency_csv;
mod latency_curve_text;
mod latency_document;
mod latency_figures;
mod latency_hwloc;
mod latency_text;
mod latency_transfers_text;
mod licence;
mod live_text;
mod load_sweep;
mod memory_plan;
mod move_text;
mod node_table;
mod pools_text;
mod predict_text;
mod ratio;
mod reading_text;
mod record_comparison;
mod record_comparison_text;
mod record_figures;
mod record_text;
mod relations_text;
mod residency_figures;
mod residency_granules;
mod residency_layout;
mod residency_processes;
mod residency_text;
mod residency_threads;
mod run_asked;
mod run_bars;
mod run_blocks;
mod run_calibration;
mod run_case;
mod run_comparison;
mod run_comparison_text;
mod run_comparison_view;
mod run_distance;
mod run_document;
mod run_evidence;
mod run_figures;
mod run_leading;
mod run_load_profile;
mod run_machine;
mod run_markdown;
mod run_outcome;
mod run_plain;
mod run_ranking;
mod run_reports;
mod run_style;
mod run_table;
mod run_text;
mod run_view;
mod run_windows;
mod screen;
mod screen_next;
mod screen_not_run;
mod screen_ranking;
mod screen_warnings;
mod svg_text;
mod topology_caches;
mod topology_cpus;
mod topology_distances;
mod topology_groups;
mod topology_map;
mod topology_settings;
mod topology_svg;
mod topology_text;
mod try_text;
mod verdict;
mod verdict_sentence;
mod verdict_too_few;
mod verdict_warnings;
mod verdict_words;
mod weights_text;

pub use advice::Advice;
pub use balance_text::{BalanceDocument, balance_document, balance_text};
pub use bandwidth_document::{BandwidthDocument, bandwidth_document};
pub use bandwidth_text::bandwidth_text;
pub use bind_text::bind_text;
pub use confidence::CONFIDENCE;
pub use cure_plan_text::{cure_plan_text, gain_of_plan};
pub use doctor_text::doctor_text;
pub use documents::{
    DoctorAnswer, Document, Groups, bandwidth_plan_document, bind_document, doctor_document,
    groups_document, latency_plan_document, residency_document, topology_document,
};
pub use dose_text::{DoseDocument, dose_document, dose_text};
pub use explanation::{Difference, Explanation, Factor, explain};
pub use explanation_cost::CaseCost;
pub use explanation_document::{ExplainDocument, explain_document};
pub use explanation_memory::MemoryShare;
pub use explanation_text::explanation_text;
pub use findings_text::finding_line;
pub use firmware_text::{FirmwareDocument, firmware_document, firmware_text};
pub use first_touch_text::{
    FirstTouchDocument, first_touch_document, first_touch_fix, first_touch_sentences,
    first_touch_text,
};
pub use group_configuration::{Configuration, group_configuration};
pub use groups_text::groups_text;
pub use history::history_text;
pub use judgement::{Judgement, judge};
pub use judgement_cases::{CaseJudgement, Comparison, TRIALS_ENOUGH};
pub use latency_csv::{curves_csv, matrix_csv, transfers_csv};
pub use latency_curve_text::latency_curve_text;
pub use latency_document::{LatencyDocument, latency_document};
pub use latency_figures::{
    gigabytes_per_s as figure_of_gigabytes_per_s, ns as figure_of_ns, size as figure_of_size,
};
pub use latency_hwloc::latency_hwloc_xml;
pub use latency_text::latency_text;
pub use latency_transfers_text::latency_transfers_text;
pub use licence::{CaseLicensed, LicenceTerms, Licensed, licences_text, licensed_cases};
pub use live_text::{LiveDocument, live_document, live_text};
pub use memory_plan::{MemoryPlan, PlanCosts, PlannedRun, memory_plan_text};
pub use move_text::{MoveDocument, move_document, move_text, time_left};
pub use pools_text::{
    NeedsDocument, PagesDocument, pages_document, pool_change_sentence, pool_changes_text,
    pool_needs_command, pool_needs_text, pools_text, reservations_text,
};
pub use predict_text::{PredictDocument, predict_document, predict_text};
pub use record_comparison::{FigureCompared, RecordComparison, compare_records};
pub use record_comparison_text::{
    RecordComparisonDocument, record_comparison_document, record_comparison_text,
};
pub use record_text::{RecordDocument, record_document, record_text};
pub use residency_layout::layout_sentence;
pub use residency_text::residency_text;
pub use run_calibration::calibration_text;
pub use run_comparison::{ComparedCase, ComparedPair, RunComparison, Selection, compare_runs};
pub use run_comparison_text::{
    CompareDocument, LicencesCompared, compare_document, comparison_text,
};
pub use run_comparison_view::{ComparedRun, ComparisonView, PairView, comparison_view};
pub use run_document::{RunDocument, run_document};
pub use run_figures::decimals;
pub use run_leading::leading_comparison;
pub use run_markdown::run_markdown;
pub use run_plain::{plain, plain_json, plain_lines};
pub use run_style::TextOptions;
pub use run_text::run_text;
pub use run_view::{CaseView, Column, RunView, TimeShare, TrialView, Validity, run_view};
pub use screen::{SCREEN_LINES, Screen};
pub use screen_next::Called;
pub use screen_not_run::NotRun;
pub use topology_cpus::topology_cpus_text;
pub use topology_svg::topology_svg;
pub use topology_text::topology_text;
pub use try_text::{TryDocument, try_document, try_text};
pub use verdict::Verdict;
pub use weights_text::{WeightsDocument, WeightsInForce, weights_document, weights_text};
