//! The measuring kernels as a workload: one trial is one measurement in fresh memory, with its
//! windows and the evidence of its placement.

use kernels::{
    BandwidthMeasurement, BandwidthPlan, CellMeasurement, CurvePlan, LoadedPlan, MemoryNodes,
    Timer, TransferPlan, measure_bandwidth, measure_cell, measure_curve, measure_loaded,
    measure_transfer,
};
use linux::Root;
use model::exit::ExitCode;
use model::{
    CasePlan, CurveFigures, DepthCurve, Evidence, KernelFigures, LineTransfers, LoadedLatency,
    Measured, MeasurementEvidence, MemoryLatency, Outcome, Phase, Placement, StreamWork,
    TransferFigures, Trial, Work, counted,
};

use super::kernel_plans::{
    Wrong, bytes, cell_plan, cpu_and_node, cpus_and_node, pages, pairs, simd, threads,
};
use crate::{Cancel, TrialSpec, Workload, WorkloadError};

/// The measuring kernels.
pub struct KernelWorkload {
    root: Root,
    timer: Timer,
    /// Whether the machine is emulated: its CPUs may share one host CPU, so that threads never run
    /// together, and its figures mean nothing anyway.
    is_emulated: bool,
}

impl KernelWorkload {
    /// Chooses the clock and measures it.
    ///
    /// # Errors
    /// When the file that names the kernel's clock source is malformed.
    pub fn new(root: Root, is_emulated: bool) -> Result<Self, kernels::Error> {
        let timer = Timer::new(&root)?;
        Ok(KernelWorkload {
            root,
            timer,
            is_emulated,
        })
    }
}

impl Workload for KernelWorkload {
    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        live(Phase::Measuring, None);
        let measured = match &case.work {
            Work::MemoryLatency(work) => self.chase(&case.placement, work, spec.seed),
            Work::DepthCurve(work) => self.curve(&case.placement, work, spec.seed),
            Work::LineTransfers(work) => self.transfers(&case.placement, work, cancel),
            Work::Stream(work) => self.stream(work),
            Work::LoadedLatency(work) => self.loaded(&case.placement, work, spec.seed),
            Work::LogicalReads(_)
            | Work::ParallelScan(_)
            | Work::OwnMemory(_)
            | Work::Command(_)
            | Work::Server(..)
            | Work::Imported(_) => Err(Wrong::Plan("no work for a kernel".to_owned())),
        };
        if cancel.is_cancelled() {
            return Err(WorkloadError::Cancelled);
        }
        match measured {
            Ok(measurement) => Ok(measurement.into_trial(spec.round)),
            Err(Wrong::Plan(what)) => Err(WorkloadError::Fatal {
                message: format!("case {:?}: {what}", case.name),
                exit_code: ExitCode::Bug,
            }),
            Err(Wrong::Kernel(error)) if error.is_permission() => Err(WorkloadError::Fatal {
                message: error.to_string(),
                exit_code: ExitCode::NotPermitted,
            }),
            // A full node or an offline CPU: this case has no figure, others may.
            Err(Wrong::Kernel(error)) => Ok(Trial {
                round: spec.round,
                outcome: Outcome::Failed(error.to_string()),
                measured: None,
                report: None,
                evidence: Evidence::default(),
                warnings: Vec::new(),
            }),
        }
    }
}

/// The result of a measuring kernel.
struct Measurement {
    value: Option<f64>,
    window_s: f64,
    warm_up_s: Option<f64>,
    figures: KernelFigures,
    evidence: Vec<MeasurementEvidence>,
    contradictions: Vec<String>,
}

impl Measurement {
    fn into_trial(self, round: u32) -> Trial {
        let first = self.evidence.first();
        let evidence = Evidence {
            numa_pages_migrated: first.and_then(|it| it.numa_pages_migrated),
            steal_s: first.and_then(|it| it.steal_s),
            measurements: self.evidence,
            ..Evidence::default()
        };
        let outcome = match (self.value, self.contradictions.is_empty()) {
            (None, _) => Outcome::Failed("no window gave a figure".to_owned()),
            (Some(_), true) => Outcome::Valid,
            (Some(_), false) => Outcome::Invalid(self.contradictions.join("; ")),
        };
        Trial {
            round,
            outcome,
            measured: self.value.map(|value| Measured {
                value,
                window_s: Some(self.window_s),
                warm_up_s: self.warm_up_s,
                sessions: None,
                kernel: Some(self.figures),
            }),
            report: None,
            evidence,
            warnings: Vec::new(),
        }
    }
}

impl KernelWorkload {
    fn chase(
        &self,
        placement: &Placement,
        work: &MemoryLatency,
        seed: u64,
    ) -> Result<Measurement, Wrong> {
        let cell = measure_cell(&cell_plan(placement, work, seed)?, &self.timer, &self.root)?;
        Ok(self.of_cell(cell, None))
    }

    fn of_cell(&self, cell: CellMeasurement, load_bytes_per_s: Option<f64>) -> Measurement {
        let windows = cell.samples_ns();
        let elapsed_ns: f64 = cell.windows.iter().map(|window| window.elapsed_ns).sum();
        Measurement {
            value: stats::median(&windows),
            window_s: elapsed_ns / 1e9,
            warm_up_s: Some(cell.lap_ns / 1e9),
            figures: KernelFigures {
                working_set_bytes: cell.working_set_bytes,
                tlb_group_pages: cell.tlb_group_pages,
                load_bytes_per_s,
                ..self.figures(windows, cell.checksum)
            },
            evidence: vec![cell.evidence],
            contradictions: cell.contradictions,
        }
    }

    fn curve(
        &self,
        placement: &Placement,
        work: &DepthCurve,
        seed: u64,
    ) -> Result<Measurement, Wrong> {
        let (cpu, node) = cpu_and_node(placement)?;
        let plan = CurvePlan {
            cpu,
            nodes: MemoryNodes::Bind(node),
            home_cpu: work.home_cpu,
            pages: pages(work.page_kind),
            bytes_max: work.bytes_max,
            last_cache_bytes: work.last_cache_bytes,
            seed,
        };
        let begun_ns = linux::clock::monotonic_ns();
        let curve = measure_curve(&plan, &self.timer, &self.root)?;
        let elapsed_ns = linux::clock::monotonic_ns() - begun_ns;
        let sizes = curve.points.iter().map(|point| point.bytes);
        let points = sizes.zip(curve.samples_ns);
        let points: Vec<CurveFigures> = points
            .map(|(bytes, windows)| CurveFigures { bytes, windows })
            .collect();
        let last = points.last().map(|point| point.windows.clone());
        let windows = last.unwrap_or_default();
        Ok(Measurement {
            value: stats::median(&windows),
            window_s: elapsed_ns as f64 / 1e9,
            warm_up_s: None,
            figures: KernelFigures {
                working_set_bytes: work.bytes_max,
                curve: points,
                ..self.figures(windows, curve.checksum)
            },
            evidence: vec![curve.evidence],
            contradictions: curve.contradictions,
        })
    }

    fn transfers(
        &self,
        placement: &Placement,
        work: &LineTransfers,
        cancel: &Cancel,
    ) -> Result<Measurement, Wrong> {
        let (cpus, home) = cpus_and_node(placement)?;
        let begun_ns = linux::clock::monotonic_ns();
        let mut transfers = Vec::new();
        let (mut evidence, mut contradictions) = (Vec::new(), Vec::new());
        let mut checksum = 0_u64;
        for (from, to) in pairs(&cpus) {
            if cancel.is_cancelled() {
                break;
            }
            let plan = TransferPlan {
                from,
                to,
                home: MemoryNodes::Bind(home),
                windows: work.windows,
                round_trips: work.round_trips,
            };
            let measured = measure_transfer(&plan, &self.timer, &self.root)?;
            checksum = checksum.wrapping_add(measured.checksum);
            contradictions.extend(measured.contradictions);
            evidence.push(measured.evidence);
            transfers.push(TransferFigures {
                from,
                to,
                windows: measured.samples_ns,
            });
        }
        let medians = transfers.iter().map(|pair| stats::median(&pair.windows));
        let windows: Vec<f64> = medians.flatten().collect();
        Ok(Measurement {
            value: stats::median(&windows),
            window_s: (linux::clock::monotonic_ns() - begun_ns) as f64 / 1e9,
            warm_up_s: None,
            figures: KernelFigures {
                working_set_bytes: kernels::LINE_BYTES as u64,
                transfers,
                ..self.figures(windows, checksum)
            },
            evidence,
            contradictions,
        })
    }

    fn stream(&self, work: &StreamWork) -> Result<Measurement, Wrong> {
        let plan = BandwidthPlan {
            kernel: work.kernel,
            simd: simd(work)?,
            threads: threads(&work.threads)?,
            bytes_per_thread: bytes(work.bytes_per_thread)?,
            pages: pages(work.page_kind),
            windows: work.windows,
            window_ns: work.window_ns,
        };
        let measured = measure_bandwidth(&plan, &self.timer, &self.root)?;
        Ok(self.of_bandwidth(measured, work))
    }

    fn of_bandwidth(&self, measured: BandwidthMeasurement, work: &StreamWork) -> Measurement {
        let windows = measured.samples_bytes_per_s();
        let overlaps: Vec<f64> = match work.threads.len() {
            ..=1 => Vec::new(),
            _ => measured.windows.iter().map(|it| it.overlap).collect(),
        };
        // A window in which the threads did not run together does not measure all of them.
        let together = measured.windows.iter();
        let together = together.filter(|it| it.overlap >= kernels::OVERLAP_MIN);
        let together: Vec<f64> = together.map(|it| it.bytes_per_s).collect();
        let mut contradictions = measured.contradictions;
        if together.is_empty() && !self.is_emulated {
            contradictions.push(format!(
                "in none of {} did all threads run together: other work used the CPUs",
                counted(windows.len(), "window")
            ));
        }
        Measurement {
            value: stats::median(&together).or_else(|| stats::median(&windows)),
            window_s: f64::from(work.windows) * work.window_ns as f64 / 1e9,
            warm_up_s: None,
            figures: KernelFigures {
                overlaps,
                working_set_bytes: work
                    .bytes_per_thread
                    .saturating_mul(work.threads.len() as u64),
                ..self.figures(windows, measured.checksum)
            },
            evidence: measured.evidence,
            contradictions,
        }
    }

    fn loaded(
        &self,
        placement: &Placement,
        work: &LoadedLatency,
        seed: u64,
    ) -> Result<Measurement, Wrong> {
        let plan = LoadedPlan {
            chase: cell_plan(placement, &work.chase, seed)?,
            load: threads(&work.load.threads)?,
            kernel: work.load.kernel,
            simd: simd(&work.load)?,
            bytes_per_thread: bytes(work.load.bytes_per_thread)?,
            pages: pages(work.load.page_kind),
            delay: work.delay,
        };
        let measured = measure_loaded(&plan, &self.timer, &self.root)?;
        let cell = CellMeasurement {
            contradictions: measured.contradictions,
            ..measured.chase
        };
        let mut measurement = self.of_cell(cell, Some(measured.load_bytes_per_s));
        measurement.evidence.extend(measured.load_evidence);
        Ok(measurement)
    }

    /// Returns the figures of a kernel that has only windows.
    fn figures(&self, windows: Vec<f64>, checksum: u64) -> KernelFigures {
        KernelFigures {
            windows,
            overlaps: Vec::new(),
            working_set_bytes: 0,
            tlb_group_pages: None,
            curve: Vec::new(),
            transfers: Vec::new(),
            load_bytes_per_s: None,
            checksum,
            timer: self.timer.facts(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use linux::Root;
    use model::{
        CasePlan, CpuId, CpuSet, Mechanism, MemoryLatency, NodeId, NodeSet, Outcome, Placement,
        Trial, Work,
    };

    use super::KernelWorkload;
    use crate::{Cancel, TrialSpec, Workload};

    fn trial(cpu: CpuId, node: u32) -> Trial {
        let case = CasePlan {
            name: "cell".to_owned(),
            about: String::new(),
            placement: Placement {
                cpus: Some(CpuSet::of(cpu)),
                memory_nodes: Some(NodeSet::of(NodeId(node))),
                mechanism: Mechanism::Affinity,
            },
            work: Work::MemoryLatency(MemoryLatency {
                home_cpu: cpu,
                awake_cpus: Arc::default(),
                page_kind: None,
                working_set_bytes: 64 << 10,
                by_tlb_groups: true,
                first_visits: false,
                windows: 3,
                window_ns: 10_000,
            }),
        };
        let spec = TrialSpec {
            round: 4,
            seed: 1,
            work_unit: None,
            window_s: 0.1,
            warm_up_s_min: 0.0,
            warm_up_s_max: 0.1,
        };
        let mut workload = KernelWorkload::new(Root::live(), false).unwrap();
        let trial = workload.trial(&case, &spec, &mut |_, _| {}, &Cancel::new());
        trial.unwrap()
    }

    #[test]
    fn a_trial_has_its_windows_and_its_proof() {
        let cpu = linux::affinity::of_this_thread().unwrap().last().unwrap();
        let trial = trial(cpu, 0);
        assert_eq!(trial.outcome, Outcome::Valid);
        assert_eq!(trial.round, 4);
        let measured = trial.measured.unwrap();
        let figures = measured.kernel.unwrap();
        assert_eq!(figures.windows.len(), 3);
        assert_eq!(Some(measured.value), stats::median(&figures.windows));
        assert_eq!(trial.evidence.measurements[0].cpus_used, CpuSet::of(cpu));
    }

    /// For example, a CPU goes offline or a node is removed during a run.
    #[test]
    fn a_cpu_or_a_node_that_is_gone_fails_the_trial_and_not_the_run() {
        let cpu = linux::affinity::of_this_thread().unwrap().last().unwrap();
        for (cpu, node, expected) in [(CpuId(8000), 0, "8000"), (cpu, 1000, "1000")] {
            let Outcome::Failed(reason) = trial(cpu, node).outcome else {
                panic!("it counts");
            };
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
