//! Executes a request: engines, store, progress, Ctrl-C, and what is undone afterwards. Every
//! command that measures uses it.

use experiment::workloads::{
    CommandWorkload, ConnectedWorkload, Engines, InstanceWorkload, KernelWorkload, ServerWorkload,
};
use experiment::{Cancel, RealClock, RunRequest, Workload};
use instance::Coordinator;
use jiff::Zoned;
use linux::Root;
use linux::own_program::OwnProgram;
use model::exit::ExitCode;
use model::{Outcome, Run, RunStatus};
use postgresql::Places;
use store::{Place, RunRecorder, Store};

use crate::changes::KINDS;
use crate::commands::internal;
use crate::databases::table::databases;
use crate::failure::Failure;
use crate::files::named_store::StoreArguments;
use crate::files::state_folder::StateFolder;
use crate::interrupt;
use crate::measuring::host;
use crate::measuring::progress::Progress;
use crate::measuring::run_id;
use crate::output;

/// What the runs of a command share.
pub(crate) struct Execution {
    state: StateFolder,
    store: Store,
    cancel: Cancel,
    postgres: Places,
}

impl Execution {
    /// Opens the store, listens for Ctrl-C, and reports what earlier commands left in force.
    pub(crate) fn open(store: &StoreArguments) -> Result<Self, Failure> {
        Self::with_postgres(store, host::postgres_places())
    }

    /// Like [`Execution::open`], but looks for PostgreSQL in these places.
    pub(crate) fn with_postgres(store: &StoreArguments, postgres: Places) -> Result<Self, Failure> {
        let state = StateFolder::from_environment()?;
        let cancel = interrupt::cancel_on_signals()?;
        warn_of_leftovers(&state)?;
        let store = Store::open(store.place()?)?;
        Ok(Execution {
            state,
            store,
            cancel,
            postgres,
        })
    }

    /// Executes a request and stores the run as it progresses. `warnings` are stored with every
    /// trial.
    pub(crate) fn execute(
        &mut self,
        request: RunRequest,
        warnings: &[String],
    ) -> Result<Run, Failure> {
        let mut servers = ServerWorkload::new(
            databases(self.postgres.clone()),
            OwnProgram::hidden_command(internal::SERVER),
            std::env::temp_dir(),
            placement::hierarchy::find(&Root::live()).ok(),
            self.state.journal(),
        );
        let result = self.execute_with(request, warnings, &mut servers);
        // Removes its cluster before what is left is undone.
        drop(servers);
        take_back(&self.state)?;
        result
    }

    /// Executes a request on a running server, and removes what was created there.
    pub(crate) fn execute_connected(
        &mut self,
        request: RunRequest,
        mut server: ConnectedWorkload,
        warnings: &[String],
    ) -> Result<Run, Failure> {
        let result = self.execute_with(request, warnings, &mut server);
        server.close()?;
        result
    }

    /// Returns the journal of changes.
    pub(crate) fn journal(&self) -> journal::Journal {
        self.state.journal()
    }

    fn execute_with(
        &mut self,
        request: RunRequest,
        warnings: &[String],
        servers: &mut dyn Workload,
    ) -> Result<Run, Failure> {
        let mut instance = embedded_instance(&self.state);
        let is_emulated = request.machine.topology.emulated == Some(true);
        let mut kernels = KernelWorkload::new(Root::live(), is_emulated)
            .map_err(|error| Failure::new(ExitCode::MachineCannot, error.to_string()))?;
        let mut command = CommandWorkload::new(
            OwnProgram::hidden_command(internal::GUARDIAN),
            placement::hierarchy::find(&Root::live()).ok(),
            self.state.journal(),
            request.machine.topology.clone(),
        );
        let mut workload = Engines {
            command: &mut command,
            instance: &mut instance,
            servers,
            kernels: &mut kernels,
            warnings,
        };
        let mut recorder = RunRecorder::new(&mut self.store);
        let mut progress = Progress::on_stderr();
        Ok(experiment::execute(
            request,
            &mut workload,
            &RealClock::start(),
            &mut [&mut recorder, &mut progress],
            &self.cancel,
        )?)
    }

    /// Claims an id for a run that starts now. No other run has it, of this process or another.
    pub(crate) fn claim_id(&mut self, now: &Zoned) -> Result<String, Failure> {
        Ok(run_id::claim(&mut self.store, now)?)
    }

    /// Whether the user asked to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Says where a run is stored.
    pub(crate) fn tell_where(&self, run: &Run) {
        let place = match self.store.place() {
            Place::File(path) => format!("in {}", path.display()),
            server => server.to_string(),
        };
        output::talk(&format!("stored as run {} {place}", run.id));
    }
}

/// Returns the embedded instance. Its processes run this very program, even if its file has been
/// replaced or removed.
pub(crate) fn embedded_instance(state: &StateFolder) -> InstanceWorkload {
    let coordinator = Coordinator(OwnProgram::hidden_command(internal::INSTANCE));
    let hierarchy = placement::hierarchy::find(&Root::live()).ok();
    InstanceWorkload::new(coordinator, hierarchy, state.journal(), state.folder())
}

/// Undoes what this process changed. Its groups are gone already; what is left is the controller
/// that was enabled for them.
pub(crate) fn take_back(state: &StateFolder) -> Result<(), Failure> {
    let (root, journal) = (Root::live(), state.journal());
    for undone in journal::undo(
        &journal,
        KINDS,
        |entry| entry.made_by.is_this_process(&root),
        false,
    )? {
        if let Some(error) = undone.failure {
            output::talk(&format!(
                "left in place: {error}; try again with `numalab undo`"
            ));
        }
    }
    Ok(())
}

fn warn_of_leftovers(state: &StateFolder) -> Result<(), Failure> {
    for entry in state.journal().in_force()? {
        if !entry.made_by.still_runs(&Root::live()) {
            let change = KINDS.describe(&entry);
            output::talk(&format!(
                "still in force from an earlier command: {change}; revert it with `numalab undo`"
            ));
        }
    }
    Ok(())
}

/// Fails if the run was interrupted, or if all trials of a case were invalid or failed.
pub(crate) fn conclusion(run: &Run) -> Result<(), Failure> {
    if run.status == RunStatus::Interrupted {
        let message = format!(
            "interrupted; the completed trials are kept as run {}",
            run.id
        );
        return Err(Failure::new(ExitCode::Interrupted, message));
    }
    for case in &run.cases {
        if case
            .trials
            .iter()
            .any(|trial| trial.valid_value().is_some())
        {
            continue;
        }
        let name = &case.plan.name;
        match case.trials.last().map(|trial| &trial.outcome) {
            Some(Outcome::Invalid(reason)) => {
                let message = format!("case {name}: no trial is valid: {reason}");
                return Err(Failure::new(ExitCode::PlacementNotHonoured, message));
            }
            Some(Outcome::Failed(reason)) => {
                let message = format!("case {name}: every trial failed: {reason}");
                return Err(Failure::new(ExitCode::WorkloadFailed, message));
            }
            _ => {}
        }
    }
    Ok(())
}
