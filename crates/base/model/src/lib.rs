//! The types shared by all crates of numalab, without side effects.
#![forbid(unsafe_code)]

mod balancing;
mod bandwidth;
mod bound;
mod byte_size;
mod caches;
mod command_work;
mod counted;
mod cure_plan;
mod dosing;
mod emulated_cost;
mod error;
mod event;
mod evidence;
pub mod exit;
mod finding;
mod firmware;
mod first_touch;
mod fleet;
mod group_state;
mod id_list;
mod interleave_weights;
mod latency;
mod live_run;
mod load_report;
mod machine;
mod metric;
mod moment;
mod moving;
mod node_matrix;
mod pasted;
mod placement;
mod pools;
mod prediction;
mod recording;
mod residency;
mod run;
mod server_kind;
mod server_settings;
mod session_load;
mod shell_line;
mod shell_word;
mod snapshot;
mod threads;
mod time_model;
mod topology;
mod trying;
mod work;
mod work_document;
mod working_set;

pub use balancing::{BalanceEnd, BalanceReport, BalanceSample, BalancedSegment};
pub use bandwidth::{
    BandwidthMethod, BandwidthResult, LoadLadder, LoadPoint, StreamKernel, StreamKernelFacts,
    ThreadPoint, ThreadSweep, WholeMachine, WholeMachineMemory,
};
pub use bound::{BindAsked, BindReport, OverrideKind, PolicyOverride};
pub use byte_size::ByteSize;
pub use caches::{
    Cache, CacheIndexing, CacheKind, CacheSizeSource, CacheWritePolicy, MemorySideCache,
    NamedCache, name_last_level_cache, shrink_last_level_cache,
};
pub use command_work::{Between, CommandServer, CommandWork, NumberPlace};
pub use counted::{counted, cpu_words, node_words};
pub use cure_plan::{
    CpusOfCure, CureInForce, CurePlan, Diagnosis, KeptDiagnosis, MemoryFigures, OtherCure, PlanFile,
};
pub use dosing::{DosePrediction, DoseReport, GivenDose};
pub use emulated_cost::EmulatedCost;
pub use error::Error;
pub use event::{Event, Observer, ObserverError, Phase};
pub use evidence::{
    CounterEvidence, Evidence, GroupEvidence, HugePoolEvidence, MeasurementEvidence,
    MemoryEvidence, ParkedEvidence, PoolEvidence, PrintedNumber, QuotaEvidence, ServerMemory,
    SessionEvidence, SgaEvidence,
};
pub use finding::{Cost, Coverage, Fact, Finding, Severity};
pub use firmware::{MeasuredDistances, TableReplacement};
pub use first_touch::{
    FirstTouch, PrivateFaults, RelationTouch, TouchCell, TouchPicture, TouchedRelation,
    TouchedSegment, Toucher, TouchingProcess,
};
pub use fleet::{
    FactKind, FactSplit, FactValue, FigureDifference, FigurePair, FleetComparison, FleetFinding,
    FleetGroup, FleetMember, GroupFigure,
};
pub use group_state::{GroupMember, GroupState};
pub use id_list::{BytesByNode, CpuId, CpuSet, ID_MAX, Id, IdSet, NodeId, NodeSet};
pub use interleave_weights::{MeasuredWeights, WeightOfNode};
pub use latency::{
    ClassesByRow, CurveLevel, CurvePoint, HopClass, LatencyCurve, LatencyMethod, LatencyResult,
    NodeLink, PageWalks, TransferMatrix,
};
pub use live_run::{LiveMeasured, LiveRun};
pub use load_report::{
    LoadProfile, LoadReport, Printed, ReportEvent, ReportHost, ReportInterval, ReportKind,
};
pub use machine::{Machine, TimerFacts, TimerSource};
pub use metric::{Better, FIGURES, Metric, MetricFacts};
pub use moment::{minute, moment};
pub use moving::{MoveReport, MoveStatus, MovedPart, Refused};
pub use node_matrix::{DistanceTable, MatrixCell, NodeMatrix};
pub use pasted::{Fetch, GivenCpus, MemoryMoment, PastedPart, PoolMoment, Reading};
pub use placement::{Allocation, Backing, LoadPlan, Mechanism, PageKind, Placement, SgaPlan};
pub use pools::{PoolChange, PoolNeed, PoolOfNode, PoolReservation, ReservingProcess};
pub use prediction::{NeededMemory, PredictedPlacement, Prediction};
pub use recording::{RecordEnd, RecordReport, RecordWindow, RecordedTarget};
pub use residency::{
    ClassResidency, Layout, ProcessResidency, RelationResidency, Relations, Residency,
    ResidencyMethod, Sampled, SampledShare, SegmentArea, SegmentKind, SegmentResidency, ServerView,
    SysvIdentity,
};
pub use run::{
    Calibration, CalibrationPoint, Case, CurveFigures, KernelFigures, LatencySummary, Measured,
    Outcome, Run, RunHeader, RunStatus, Sample, SessionFigures, Skipped, TransferFigures, Trial,
    UpdateFigures,
};
pub use server_kind::{ServerFacts, ServerKind};
pub use server_settings::{ServerSession, ServerSettings};
pub use session_load::{SessionLoad, SessionLoadFacts, SessionMemory};
pub use shell_line::{ShellArgument, ShellLine};
pub use shell_word::shell_word;
pub use snapshot::{
    Allocations, InstanceSnapshot, MachineSnapshot, MemorySnapshot, MemorySource, NodeSnapshot,
    OpenedSnapshot, OpenedSubject, Pressure, ProcessSnapshot, SegmentSnapshot, Snapshot,
    ThreadSnapshot,
};
pub use threads::{FirstThread, ThreadMask, ThreadRole, Threads};
pub use time_model::{
    TimeModel, WAIT_BUCKET_LATCH, WAIT_BUFFER_BUSY, WAIT_CPU_QUANTUM, WAIT_FOR_WORK,
    WAIT_FREE_BUFFER, WAIT_READ_BY_OTHER, WAIT_SCATTERED_READ, WAIT_SEQUENTIAL_READ, Wait,
};
pub use topology::{
    CgroupVersion, Core, CpuGovernor, Device, DeviceKind, KernelSettings, MachineHugePages,
    MemoryRating, Node, NodeHugePages, NodesOfCpus, Topology,
};
pub use trying::{JudgedBy, TriedPlacement, TryEnd, TryLine, TryReport, TryVerdict, TryWindow};
pub use work::{
    CasePlan, DepthCurve, ImportedWork, LineTransfers, LoadedLatency, LogicalReads, MemoryLatency,
    OwnMemory, OwnMemoryWork, ParallelScan, ServerReads, Stealing, StreamThreadPlan, StreamWork,
    Work,
};
pub use working_set::{WorkingSet, WorkingSetPoint};
