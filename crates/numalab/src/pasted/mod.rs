//! `--from`: what people already have, read as a machine (docs/pasted.md).

mod archive;
mod bundle;
mod texts;
mod tree;

pub(crate) use texts::gather;
pub(crate) use tree::PastedMachine;
