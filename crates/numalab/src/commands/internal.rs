//! Hidden commands: the processes of the embedded instance.

use std::ffi::CStr;
use std::io::{Read, Write};

use instance::{InstanceOrder, InstanceReport, SessionOrder, SessionProgram};
use model::exit::ExitCode;

use crate::failure::Failure;

/// The argument that makes this binary an instance process.
pub const INSTANCE: &str = "internal-instance";
/// The argument that makes this binary a session process.
pub const SESSION: &str = "internal-session";

/// The kernel's name for these processes, which would be that of /proc/self/exe.
const NAME: &CStr = c"numalab";

/// The instance process: one order on stdin, reports on stdout.
pub fn instance() -> Result<(), Failure> {
    linux::process::set_name(NAME);
    let order: InstanceOrder = read_order()?;
    let program = SessionProgram {
        path: "/proc/self/exe".to_owned(),
        arguments: vec![SESSION.to_owned()],
    };
    let result = instance::run_instance(&order, &program, &mut send);
    if let Err(error) = result {
        send(error.into())?;
    }
    Ok(())
}

/// A session process: one order on stdin.
pub fn session() -> Result<(), Failure> {
    linux::process::set_name(NAME);
    let order: SessionOrder = read_order()?;
    Ok(instance::run_session(&order)?)
}

fn read_order<T: serde::de::DeserializeOwned>() -> Result<T, Failure> {
    let mut text = String::new();
    let wrong = |cause: String| Failure::new(ExitCode::Usage, format!("order on stdin: {cause}"));
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
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
