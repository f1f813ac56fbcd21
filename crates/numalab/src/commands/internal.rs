//! Hidden commands: the processes of the embedded instance, the process that becomes a database
//! server, and those that guard and become an external program.

use std::ffi::{CStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;

use experiment::workloads::CommandOrder;
use instance::{InstanceCommand, InstanceOrder, InstanceReport, SessionOrder};
use linux::own_program::OwnProgram;
use model::exit::ExitCode;
use server::LaunchOrder;

use crate::failure::Failure;

/// The argument that makes this binary an instance process.
pub(crate) const INSTANCE: &str = "internal-instance";
/// The argument that makes this binary the process that becomes an external program.
pub(crate) const COMMAND: &str = "internal-command";
/// The argument that makes this binary the guardian of an external program: it ends with the
/// program or the coordinator, and leaves no process of the program behind.
pub(crate) const GUARDIAN: &str = "internal-guardian";
/// The argument that makes this binary the process that becomes a database server.
pub(crate) const SERVER: &str = "internal-server";
/// The argument that makes this binary a session process.
pub(crate) const SESSION: &str = "internal-session";

/// The name of these processes (comm); started as /proc/self/exe, they would be called `exe`.
const NAME: &CStr = c"numalab";

/// Runs the instance process: reads one order from stdin, then commands, one per line; writes
/// reports to stdout.
pub(crate) fn instance() -> Result<(), Failure> {
    linux::process::set_name(NAME);
    let order = read_line::<InstanceOrder>().map_err(wrong_order)?;
    let order = order.ok_or_else(|| wrong_order("it is empty".to_owned()))?;
    let mut commands = || {
        read_line::<InstanceCommand>().map_err(|cause| instance::Error::Protocol {
            what: "command",
            cause,
        })
    };
    let program = OwnProgram::hidden_command(SESSION);
    let result = instance::run_instance(&order, &program, &mut commands, &mut send);
    if let Err(error) = result {
        send(error.into())?;
    }
    Ok(())
}

/// Becomes a database server: reads an order from stdin, or executes `words`, which are left
/// after the change of user.
pub(crate) fn server(words: &[OsString]) -> Result<(), Failure> {
    let error = if words.is_empty() {
        let order: LaunchOrder = read_order()?;
        server::place_and_execute(&order, &OwnProgram::hidden_command(SERVER))
    } else {
        server::execute_server(words)
    };
    Err(error.into())
}

/// Guards an external program: reads an order from stdin, which then stays open. Ends as the
/// program ended.
pub(crate) fn guardian() -> Result<(), Failure> {
    linux::process::set_name(NAME);
    let ended = experiment::workloads::guard(&OwnProgram::hidden_command(COMMAND));
    let status = ended.map_err(|cause| {
        Failure::new(
            ExitCode::WorkloadFailed,
            format!("cannot guard the program: {cause}"),
        )
    })?;
    if let Some(signal) = status.signal() {
        linux::child::end_by_signal(signal);
    }
    std::process::exit(status.code().unwrap_or(i32::from(ExitCode::Bug.number())))
}

/// Becomes an external program: reads an order from stdin.
pub(crate) fn command() -> Result<(), Failure> {
    let order: CommandOrder = read_order()?;
    let reason = experiment::workloads::place_and_execute(&order);
    Err(Failure::new(ExitCode::WorkloadFailed, reason))
}

/// Runs a session process: reads one order from stdin.
pub(crate) fn session() -> Result<(), Failure> {
    linux::process::set_name(NAME);
    let order: SessionOrder = read_order()?;
    Ok(instance::run_session(&order)?)
}

fn read_order<T: serde::de::DeserializeOwned>() -> Result<T, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| wrong_order(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong_order(error.to_string()))
}

/// Reads one document from the next line of stdin; `None` at the end. Nothing after it is lost,
/// because the buffer of stdin belongs to the whole process.
fn read_line<T: serde::de::DeserializeOwned>() -> Result<Option<T>, String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    match read.map_err(|error| error.to_string())? {
        0 => Ok(None),
        _ => serde_json::from_str(&line).map_err(|error| error.to_string()),
    }
}

fn wrong_order(cause: String) -> Failure {
    Failure::new(ExitCode::Usage, format!("order on stdin: {cause}"))
}

fn send(report: InstanceReport) -> Result<(), instance::Error> {
    let io = |cause| instance::Error::Io {
        what: "reporting to the coordinator",
        cause,
    };
    let mut line = serde_json::to_vec(&report).map_err(|cause| io(cause.into()))?;
    line.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(&line)
        .and_then(|()| stdout.flush())
        .map_err(io)
}
