//! Tests of pages, one file for each subject.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod hostile_documents;
mod real_documents;
