//! `numalab fleet plan`: files with which Slurm, Kubernetes or Ansible measures many machines.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use model::counted;
use model::exit::ExitCode;
use orchestrators::{Engine, Files, Plan, Step, host_list};

use crate::failure::Failure;
use crate::files::named_store;
use crate::files::requested_files;
use crate::measuring::run_id;
use crate::output;

/// Options of `numalab fleet plan`.
#[derive(Args)]
pub(super) struct PlanArguments {
    /// What each machine does, in this order: doctor, "doctor TARGET", latency, bandwidth, or
    /// experiments (see `numalab list`).
    #[arg(value_name = "WHAT", default_values = ["doctor", "latency"], value_parser = Step::named)]
    what: Vec<Step>,
    /// The engine that runs it.
    #[arg(long = "for", value_name = "ENGINE", value_enum)]
    engine: EngineName,
    /// Store to which each machine sends what it measured: postgresql://ROLE@HOST/DATABASE, or a
    /// file that all machines reach. The password is never in it: each machine takes it from where
    /// psql does.
    #[arg(long, value_name = "URL|FILE")]
    to: PathBuf,
    /// The machines: names with commas, ranges as in db[01-40], or a file with a name a line.
    /// Kubernetes also goes without: a DaemonSet for every node.
    #[arg(long, value_name = "FILE|LIST")]
    hosts: Option<String>,
    /// Write the files into this folder, which must be new or empty.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Name of the plan: at most 30 small letters, digits and hyphens [default: fleet- and the
    /// time].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Let each experiment answer within this many seconds.
    #[arg(long, value_name = "S", default_value_t = 300)]
    #[arg(value_parser = clap::value_parser!(u32).range(10..=86_400))]
    within: u32,
    /// With kubernetes: the image of the containers, with numalab and a shell.
    #[arg(long, value_name = "IMAGE", required_if_eq("engine", "kubernetes"))]
    #[arg(value_parser = image)]
    image: Option<String>,
}

/// The URL may have a password.
impl std::fmt::Debug for PlanArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlanArguments")
    }
}

/// The engines as words of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// An array of sbatch, alone on each node.
    Slurm,
    /// A Job for each host, or a DaemonSet.
    Kubernetes,
    /// A role with a playbook.
    Ansible,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Slurm => Engine::Slurm,
            EngineName::Kubernetes => Engine::Kubernetes,
            EngineName::Ansible => Engine::Ansible,
        }
    }
}

/// The most bytes of a list of hosts.
const HOSTS_BYTES_MAX: u64 = 8 << 20;

/// Parses the name of an image.
fn image(text: &str) -> Result<String, String> {
    let is_fit = |letter: char| letter.is_ascii_graphic();
    match !text.is_empty() && text.len() <= 500 && text.chars().all(is_fit) {
        true => Ok(text.to_owned()),
        false => Err("expected the name of an image, such as registry/numalab:1".to_owned()),
    }
}

/// Writes the files.
pub(super) fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let plan = plan(arguments)?;
    let files = orchestrators::files(&plan, arguments.image.as_deref().unwrap_or_default());
    write(&arguments.out, &files)?;
    output::data(&text(&plan, &arguments.out, &files))
}

fn plan(arguments: &PlanArguments) -> Result<Plan, Failure> {
    for step in &arguments.what {
        if let Some(name) = step.experiment() {
            experiment::find(name)?;
        }
    }
    let hosts = match &arguments.hosts {
        Some(named) => hosts(named)?,
        None => Vec::new(),
    };
    let now = jiff::Zoned::now();
    let name = arguments.name.clone();
    let name = name.unwrap_or_else(|| now.strftime("fleet-%Y%m%d-%H%M%S").to_string());
    let plan = Plan::new(
        (&name, &run_id::rfc_3339(&now)),
        arguments.engine.into(),
        &store(&arguments.to)?,
        arguments.what.clone(),
        arguments.within,
        hosts,
    );
    plan.map_err(|error| Failure::new(ExitCode::Usage, format!("cannot plan this: {error}")))
}

/// The store as the machines are told; without a password, since files are kept and copied.
fn store(named: &Path) -> Result<String, Failure> {
    let usage = |message: &str| Failure::new(ExitCode::Usage, message);
    let place = store::Place::named(named).map_err(store::Error::from)?;
    if place.has_password() {
        let refused = usage("the URL has a password, which would be in files that are copied");
        return Err(refused.advise(
            "leave it out: each machine reads PGPASSWORD, a service or ~/.pgpass; in Kubernetes a \
             Secret, with Ansible a vault",
        ));
    }
    let path = match named_store::place(named, "--to")? {
        store::Place::Server(_) => named.to_owned(),
        store::Place::File(path) => std::path::absolute(&path)
            .map_err(|cause| usage(&format!("--to {}: {cause}", path.display())))?,
    };
    let text = path
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    Ok(text
        .ok_or_else(|| usage("--to: expected UTF-8 in one line"))?
        .to_owned())
}

fn hosts(named: &str) -> Result<Vec<String>, Failure> {
    let usage = |message: String| Failure::new(ExitCode::Usage, message);
    let is_file = Path::new(named).is_file();
    let text = match is_file {
        true => observed::read_named(Path::new(named), HOSTS_BYTES_MAX)
            .map_err(|cause| usage(format!("cannot read the hosts of {named}: {cause}")))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())?,
        false => named.to_owned(),
    };
    host_list(&text).map_err(|error| {
        let failure = usage(format!("--hosts: {error}"));
        match !is_file && named.contains('/') {
            true => failure.advise(format!("there is no file {named}")),
            false => failure,
        }
    })
}

/// Writes all files into a new or empty folder, so that none of an older plan is among them.
fn write(folder: &Path, files: &Files) -> Result<(), Failure> {
    let unwritable = |cause: std::io::Error| {
        let message = format!("cannot write into {}: {cause}", folder.display());
        Failure::new(ExitCode::Usage, message)
    };
    fs::create_dir_all(folder).map_err(unwritable)?;
    if observed::entries(folder, 1)
        .map_err(unwritable)?
        .next()
        .is_some()
    {
        let message = format!("{} is not empty", folder.display());
        return Err(Failure::new(ExitCode::Usage, message).advise("name a new folder with --out"));
    }
    for (name, text) in &files.files {
        let path = folder.join(name);
        let parent = path.parent().expect("it is below the folder");
        fs::create_dir_all(parent).map_err(unwritable)?;
        requested_files::write(&path, text)?;
    }
    Ok(())
}

fn text(plan: &Plan, folder: &Path, files: &Files) -> String {
    let machines = match plan.hosts.len() {
        0 => "every node".to_owned(),
        count => counted(count, "machine"),
    };
    let names = files.files.iter().map(|(name, _)| format!("  {name}\n"));
    let steps = plan.steps.iter().map(ToString::to_string);
    let steps: Vec<String> = steps.collect();
    let status = ("numalab fleet status .".to_owned(), "what came of it");
    let next: Vec<_> = files.next.iter().chain([&status]).collect();
    let next = next
        .iter()
        .map(|(command, what)| format!("  # {what}\n  {command}\n"));
    format!(
        "Plan {} for {machines}: {}\n\nWritten to {}\n{}\nNext, there\n{}",
        plan.name,
        steps.join(", "),
        folder.display(),
        names.collect::<String>(),
        next.collect::<String>()
    )
}
