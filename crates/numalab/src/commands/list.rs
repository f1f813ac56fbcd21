//! `numalab list`: the experiments, and whether this machine can run each.

use std::fmt::Write;

use experiment::{SHIPPED, availability};
use serde_json::json;

use crate::arguments::ListArguments;
use crate::failure::Failure;
use crate::{host, machine, output};

/// Lists the shipped experiments.
pub fn run(arguments: &ListArguments) -> Result<(), Failure> {
    let machine = machine::record()?;
    let host = host::of_this_process(&machine.topology)?;
    let mut text = String::new();
    let mut documents = Vec::new();
    for shipped in SHIPPED {
        let definition = shipped.definition()?;
        let available = availability(&definition, &host);
        let (mark, reason) = match &available {
            Ok(()) => ("runs here", None),
            Err(cannot) => ("cannot run here", Some(cannot)),
        };
        let line = "writing to a string cannot fail";
        writeln!(text, "{} ({mark})", shipped.name).expect(line);
        writeln!(text, "  {}", definition.question).expect(line);
        if let Some(cannot) = reason {
            writeln!(text, "  why not: {}", cannot.reason).expect(line);
            if !cannot.advice.is_empty() {
                writeln!(text, "  way out: {}", cannot.advice).expect(line);
            }
        }
        text.push('\n');
        documents.push(json!({
            "name": shipped.name,
            "question": definition.question,
            "runs_here": available.is_ok(),
            "reason": reason.map(|cannot| &cannot.reason),
            "advice": reason.map(|cannot| &cannot.advice).filter(|advice| !advice.is_empty()),
        }));
    }
    text.push_str("numalab run NAME, or numalab run FILE.toml with an experiment of your own.\n");
    if arguments.json {
        return output::json(
            &json!({ "format": "numalab.experiments/1", "experiments": documents }),
        );
    }
    output::data(&text)
}
