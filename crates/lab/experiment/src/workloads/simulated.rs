//! A workload that measures nothing: rates with known noise, on a simulated clock.
//!
//! It allows exact tests of the runner, and development of reports without a machine. Nothing is
//! read back, so its trials carry no evidence and say so.

use std::collections::BTreeMap;

use model::{
    Calibration, CalibrationPoint, CasePlan, Evidence, LatencySummary, LoadPlan, Measured, Outcome,
    Phase, Sample, SessionFigures, TimeModel, Trial, WAIT_CPU_QUANTUM, Wait,
};
use stats::Generator;

use crate::{CalibrationSpec, Cancel, SimulatedClock, TrialSpec, Workload, WorkloadError};

/// The outcome of the trials of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Behaviour {
    /// The value without noise, in the metric of the run.
    pub value: f64,
    /// Relative standard deviation of independent normal noise between trials.
    pub noise: f64,
    /// Relative change of the rate from each trial of the run to the next, as on a machine that
    /// heats up.
    pub drift_per_trial: f64,
    /// Trials that another program disturbed.
    pub outlier: Option<Outlier>,
    /// Share of trials whose placement does not take effect.
    pub invalid_share: f64,
    /// Share of trials that die.
    pub failed_share: f64,
}

/// Trials that another program disturbed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// Their share.
    pub share: f64,
    /// Their rate is multiplied by this.
    pub factor: f64,
}

impl Behaviour {
    /// Creates trials of this rate with this noise, all valid.
    pub fn steady(value: f64, noise: f64) -> Self {
        Behaviour {
            value,
            noise,
            drift_per_trial: 0.0,
            outlier: None,
            invalid_share: 0.0,
            failed_share: 0.0,
        }
    }
}

/// The simulated workload.
#[derive(Debug, Clone)]
pub struct Simulated {
    clock: SimulatedClock,
    seed: u64,
    otherwise: Behaviour,
    behaviours: BTreeMap<String, Behaviour>,
    /// Seconds to load the SGA before each trial.
    loading_s: f64,
    trials_made: u32,
}

/// Seconds a calibration spends on each work unit.
const CALIBRATION_STEP_S: f64 = 0.5;
/// Number of live samples in a window.
const SAMPLES: u32 = 10;

impl Simulated {
    /// Creates a workload in which every case behaves like `otherwise`.
    pub fn new(clock: SimulatedClock, seed: u64, otherwise: Behaviour) -> Self {
        Simulated {
            clock,
            seed,
            otherwise,
            behaviours: BTreeMap::new(),
            loading_s: 0.5,
            trials_made: 0,
        }
    }

    /// Sets the behaviour of the case with this name.
    #[must_use]
    pub fn with_case(mut self, name: &str, behaviour: Behaviour) -> Self {
        self.behaviours.insert(name.to_owned(), behaviour);
        self
    }

    fn behaviour(&self, case: &CasePlan) -> Behaviour {
        self.behaviours
            .get(&case.name)
            .copied()
            .unwrap_or(self.otherwise)
    }

    /// Advances the clock, unless the run is cancelled.
    fn pass(&self, seconds: f64, cancel: &Cancel) -> Result<(), WorkloadError> {
        if cancel.is_cancelled() {
            return Err(WorkloadError::Cancelled);
        }
        self.clock.advance(seconds);
        Ok(())
    }
}

impl Workload for Simulated {
    fn calibrate(
        &mut self,
        case: &CasePlan,
        _spec: &CalibrationSpec,
        on_point: &mut dyn FnMut(CalibrationPoint),
        cancel: &Cancel,
    ) -> Result<Option<Calibration>, WorkloadError> {
        let Some(work) = case.logical_reads() else {
            return Ok(None);
        };
        // The executor costs as much as eight rows, so the plateau is a few doublings away.
        let plateau = self.behaviour(case).value / f64::from(work.load.sessions);
        let rate = |work_unit: u32| plateau * f64::from(work_unit) / f64::from(work_unit + 8);
        let mut points = Vec::new();
        for work_unit in (0..8).map(|doublings| 1 << doublings) {
            self.pass(CALIBRATION_STEP_S, cancel)?;
            let point = CalibrationPoint {
                work_unit,
                logical_reads_per_s: rate(work_unit),
            };
            on_point(point);
            points.push(point);
        }
        Ok(Some(Calibration {
            work_unit: 128,
            plateau_reached: true,
            points,
        }))
    }

    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        let behaviour = self.behaviour(case);
        let number = self.trials_made;
        self.trials_made += 1;
        let mut generator = Generator::new(self.seed, u64::from(number));
        let rate = rate_of(&behaviour, number, &mut generator);
        let fate = generator.unit();

        live(Phase::Loading, None);
        self.pass(self.loading_s, cancel)?;
        live(Phase::WarmingUp, Some(rate));
        self.pass(spec.warm_up_s_min, cancel)?;
        live(Phase::Measuring, Some(rate));
        self.pass(spec.window_s, cancel)?;

        let outcome = if fate < behaviour.failed_share {
            Outcome::Failed("simulated: session 0 was killed".to_owned())
        } else if fate < behaviour.failed_share + behaviour.invalid_share {
            Outcome::Invalid("simulated: a page lies on another node".to_owned())
        } else {
            Outcome::Valid
        };
        let died = matches!(outcome, Outcome::Failed(_));
        Ok(Trial {
            round: spec.round,
            outcome,
            measured: (!died).then(|| measured(case, spec, rate)),
            report: None,
            evidence: Evidence::default(),
            warnings: vec!["simulated: nothing was measured".to_owned()],
        })
    }
}

/// Returns the rate of the trial with this number.
fn rate_of(behaviour: &Behaviour, number: u32, generator: &mut Generator) -> f64 {
    let drift = (1.0 + behaviour.drift_per_trial).powf(f64::from(number));
    let noise = 1.0 + behaviour.noise * generator.normal();
    let disturbance = match behaviour.outlier {
        Some(outlier) if generator.unit() < outlier.share => outlier.factor,
        _ => 1.0,
    };
    behaviour.value * drift * noise.max(0.0) * disturbance
}

/// Returns what a trial of this value would have measured.
fn measured(case: &CasePlan, spec: &TrialSpec, value: f64) -> Measured {
    Measured {
        value,
        window_s: Some(spec.window_s),
        warm_up_s: Some(spec.warm_up_s_min),
        sessions: case
            .logical_reads()
            .map(|work| session_figures(case, &work.load, spec, value)),
        kernel: None,
    }
}

/// Returns what the sessions of a trial of this rate would have done.
fn session_figures(
    case: &CasePlan,
    load: &LoadPlan,
    spec: &TrialSpec,
    rate: f64,
) -> SessionFigures {
    let logical_reads = (rate * spec.window_s).round() as u64;
    let work_unit = spec.work_unit.unwrap_or(1).max(1);
    let sample = |number: u32| Sample {
        at_s: spec.window_s * f64::from(number) / f64::from(SAMPLES),
        logical_reads_per_s: rate,
        ..Sample::default()
    };
    SessionFigures {
        sessions: load.sessions,
        work_unit,
        statements: logical_reads / u64::from(work_unit),
        logical_reads,
        physical_reads: 0,
        updates: None,
        time: time_model(case, load, spec.window_s),
        samples: (1..=SAMPLES).map(sample).collect(),
        statement_latency: LatencySummary::default(),
    }
}

/// Returns the time model: caged sessions wait for their quantum, sessions in excess of the CPUs
/// wait for a CPU.
fn time_model(case: &CasePlan, load: &LoadPlan, window_s: f64) -> TimeModel {
    let sessions = f64::from(load.sessions);
    let let_run = load.cpu_count.map_or(sessions, f64::from);
    let cpus = case.placement.cpus.as_ref();
    let on_cpu = cpus.map_or(let_run, |cpus| let_run.min(cpus.len() as f64));
    let mut time = TimeModel {
        db_time_s: sessions * window_s,
        db_cpu_s: on_cpu * window_s,
        cpu_wait_s: (let_run - on_cpu) * window_s,
        kernel_cpu_s: None,
        waits: BTreeMap::new(),
    };
    if load.cpu_count.is_some() {
        let wait = Wait {
            // One wait for each quantum of 100 ms in which a session may run.
            count: (let_run * window_s * 10.0).round() as u64,
            total_s: (sessions - let_run) * window_s,
        };
        time.waits.insert(WAIT_CPU_QUANTUM.to_owned(), wait);
    }
    time
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use crate::run::test_plans::case;

    const SPEC: TrialSpec = TrialSpec {
        round: 3,
        seed: 1,
        work_unit: Some(64),
        window_s: 2.0,
        warm_up_s_min: 1.0,
        warm_up_s_max: 5.0,
    };

    fn trials(behaviour: Behaviour, count: u32) -> Vec<Trial> {
        let mut workload = Simulated::new(SimulatedClock::new(), 7, behaviour);
        let mut trial = |_| {
            let cancel = Cancel::new();
            workload
                .trial(&case("any"), &SPEC, &mut |_, _| {}, &cancel)
                .unwrap()
        };
        (0..count).map(&mut trial).collect()
    }

    fn rates(behaviour: Behaviour, count: u32) -> Vec<f64> {
        let trials = trials(behaviour, count);
        trials.iter().filter_map(Trial::valid_value).collect()
    }

    #[test]
    fn rates_have_the_noise_they_were_given() {
        let rates = rates(Behaviour::steady(1000.0, 0.05), 500);
        let mean = rates.iter().sum::<f64>() / 500.0;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 499.0;
        assert!((mean - 1000.0).abs() < 10.0, "{mean}");
        assert!((variance.sqrt() - 50.0).abs() < 5.0, "{variance}");
        assert_eq!(rates, self::rates(Behaviour::steady(1000.0, 0.05), 500));
    }

    #[test]
    fn drift_and_outliers_change_rates() {
        let drifting = Behaviour {
            drift_per_trial: -0.5,
            ..Behaviour::steady(1024.0, 0.0)
        };
        assert_eq!(rates(drifting, 3), [1024.0, 512.0, 256.0]);
        let disturbed = Behaviour {
            outlier: Some(Outlier {
                share: 1.0,
                factor: 0.25,
            }),
            ..Behaviour::steady(1024.0, 0.0)
        };
        assert_eq!(rates(disturbed, 1), [256.0]);
    }

    #[test]
    fn trials_die_and_contradict_as_often_as_asked() {
        let behaviour = Behaviour {
            invalid_share: 0.25,
            failed_share: 0.25,
            ..Behaviour::steady(1000.0, 0.0)
        };
        let trials = trials(behaviour, 400);
        let count = |wanted: fn(&Outcome) -> bool| {
            trials.iter().filter(|trial| wanted(&trial.outcome)).count()
        };
        let invalid = count(|outcome| matches!(outcome, Outcome::Invalid(_)));
        let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
        assert!(invalid.abs_diff(100) < 40 && failed.abs_diff(100) < 40);
        for trial in &trials {
            let died = matches!(trial.outcome, Outcome::Failed(_));
            assert_eq!(trial.measured.is_none(), died);
            assert_eq!(trial.round, 3);
        }
    }

    #[test]
    fn a_trial_takes_its_loading_warm_up_and_window() {
        let clock = SimulatedClock::new();
        let mut workload = Simulated::new(clock.clone(), 7, Behaviour::steady(1000.0, 0.0));
        let mut phases = Vec::new();
        let mut live = |phase, rate| phases.push((phase, rate));
        workload
            .trial(&case("any"), &SPEC, &mut live, &Cancel::new())
            .unwrap();
        assert_eq!(clock.now_s(), 3.5);
        assert_eq!(
            phases,
            [
                (Phase::Loading, None),
                (Phase::WarmingUp, Some(1000.0)),
                (Phase::Measuring, Some(1000.0))
            ]
        );
        let cancel = Cancel::new();
        cancel.cancel();
        let cancelled = workload.trial(&case("any"), &SPEC, &mut |_, _| {}, &cancel);
        assert_eq!(cancelled, Err(WorkloadError::Cancelled));
    }

    #[test]
    fn the_time_model_adds_up_under_caging_and_binding() {
        let mut plan = case("any");
        plan.placement.cpus = Some("0-3".parse().unwrap());
        let load = LoadPlan {
            sessions: 9,
            cpu_count: Some(6),
            ..LoadPlan::default()
        };
        let time = time_model(&plan, &load, 10.0);
        assert_eq!(time.db_time_s, 90.0);
        assert_eq!(
            (time.db_cpu_s, time.cpu_wait_s, time.waits_s()),
            (40.0, 20.0, 30.0)
        );
        assert_eq!(time.unaccounted_s(), 0.0);
    }
}
