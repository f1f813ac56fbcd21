//! Says in words what was measured and what crate `verdict` made of it: text, Markdown and JSON.
//! Nothing here measures or prints.
#![forbid(unsafe_code)]

mod comparison;
mod diagnosis;
mod documents;
mod explanation;
mod first_touch;
mod fleet;
mod form;
mod memory;
mod placement;
mod records;
mod residency;
mod run;
mod screen;
mod topology;
mod verdict_words;

pub use comparison::text::{CompareDocument, LicencesCompared, compare_document, comparison_text};
pub use comparison::view::{ComparedRun, ComparisonView, PairView, comparison_view};
pub use diagnosis::cure_plan_text::{cpus_of_plan, cure_plan_text, gain_of_plan};
pub use diagnosis::doctor_text::doctor_text;
pub use diagnosis::findings_text::finding_line;
pub use documents::{DoctorAnswer, Document, Fields, Groups};
pub use explanation::document::{ExplainDocument, explain_document};
pub use explanation::text::explanation_text;
pub use first_touch::text::{first_touch_fix, first_touch_sentences, first_touch_text};
pub use fleet::comparison_text::{
    fleet_answer, fleet_comparison_text, fleet_finding_words, fleet_undecided_words,
};
pub use form::advice::Advice;
pub use form::plain::{plain, plain_json, plain_lines};
pub use form::style::TextOptions;
pub use form::table::{Side, Table};
pub use memory::bandwidth_document::{BANDWIDTH_FORMAT, BandwidthDocument, bandwidth_document};
pub use memory::bandwidth_text::bandwidth_text;
pub use memory::latency_csv::{curves_csv, matrix_csv, transfers_csv};
pub use memory::latency_curve_text::latency_curve_text;
pub use memory::latency_document::{LATENCY_FORMAT, LatencyDocument, latency_document};
pub use memory::latency_figures::{
    gigabytes_per_s as figure_of_gigabytes_per_s, ns as figure_of_ns, size as figure_of_size,
};
pub use memory::latency_hwloc::latency_hwloc_xml;
pub use memory::latency_text::latency_text;
pub use memory::latency_transfers_text::latency_transfers_text;
pub use memory::memory_plan::{MemoryPlan, PlanCosts, PlannedRun, memory_plan_text};
pub use placement::balance_text::{balance_text, outcome as balance_outcome};
pub use placement::bind_text::bind_text;
pub use placement::dose_text::dose_text;
pub use placement::firmware_text::{FirmwareDocument, firmware_document, firmware_text};
pub use placement::group_configuration::{Configuration, group_configuration};
pub use placement::groups_text::groups_text;
pub use placement::move_text::{move_text, time_left};
pub use placement::pools_text::{
    NeedsDocument, PagesDocument, pages_document, pool_change_sentence, pool_changes_text,
    pool_needs_command, pool_needs_text, pools_text, reservations_text,
};
pub use placement::predict_text::predict_text;
pub use placement::try_text::{TryDocument, try_document, try_text};
pub use placement::weights_text::{
    WeightsDocument, WeightsInForce, weights_document, weights_text,
};
pub use records::comparison::{FigureCompared, RecordComparison, compare_records};
pub use records::comparison_text::record_comparison_text;
pub use records::live_text::{LiveDocument, live_document, live_text};
pub use records::text::{RecordDocument, record_document, record_text};
pub use residency::layout::layout_sentence;
pub use residency::text::residency_text;
pub use run::calibration::calibration_text;
pub use run::document::{RunDocument, run_document};
pub use run::figures::{decimals, value as figure_of_metric};
pub use run::history::history_text;
pub use run::leading::leading_comparison;
pub use run::licence::{CaseLicensed, LicenceTerms, Licensed, licences_text, licensed_cases};
pub use run::markdown::run_markdown;
pub use run::text::run_text;
pub use run::view::{CaseView, RunView, TimeShare, TrialView, Validity, run_view};
pub use screen::next::Called;
pub use screen::not_run::NotRun;
pub use screen::whole::{SCREEN_LINES, Screen};
pub use topology::cpus::topology_cpus_text;
pub use topology::svg::topology_svg;
pub use topology::text::topology_text;
pub use verdict_words::answer::ANSWER_WORDS;
pub use verdict_words::sentence::verdict_sentence;
pub use verdict_words::warnings::run_warnings;
