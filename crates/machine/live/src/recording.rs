//! Recordings: a document per line, the first about the machine, each other a snapshot; compressed.
//! A recording that was cut off is read as far as it is whole.

use std::io::{BufRead, BufReader, Read, Write};

use model::Snapshot;
use serde::{Deserialize, Serialize};

/// The format.
pub const FORMAT: &str = "numalab.recording/1";

/// A snapshot of 20,000 processes has about 10 MiB: a longer line is none of ours.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// zstd's window: what a hostile file can make the reader allocate (2 to the power of this).
const WINDOW_LOG_MAX: u32 = 25;

/// The first line of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`FORMAT`].
    pub format: String,
    /// Name of the machine.
    pub host: String,
    /// Release of its kernel.
    pub kernel: String,
    /// What was watched: `machine`, or a target.
    pub target: String,
    /// Seconds between snapshots, as requested.
    pub every_s: f64,
}

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read or written.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// A snapshot that cannot be written as JSON.
    #[error("cannot write a snapshot: {0}")]
    Document(serde_json::Error),
    /// The first line is another one.
    #[error("not a recording: expected a first line with \"format\":\"{FORMAT}\", found {found:?}")]
    NoRecording {
        /// The beginning of the line.
        found: String,
    },
    /// A line is malformed.
    #[error("line {line}: expected a snapshot: {cause}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        cause: serde_json::Error,
    },
    /// A line is too long.
    #[error("line {line}: longer than {LINE_BYTES_MAX} bytes")]
    LineTooLong {
        /// Its number, from 1.
        line: usize,
    },
}

/// Writes a recording.
pub struct Writer<W: Write> {
    encoder: zstd::Encoder<'static, W>,
}

impl<W: Write> Writer<W> {
    /// Begins a recording; sets the format of the header.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(file: W, header: &Header) -> Result<Self, RecordingError> {
        let header = Header {
            format: FORMAT.to_owned(),
            ..header.clone()
        };
        let encoder = zstd::Encoder::new(file, 3)?;
        let mut writer = Self { encoder };
        writer.line(&header)?;
        Ok(writer)
    }

    /// Adds a snapshot, [`without_arguments`], and hands it to the file, so that a kill loses
    /// nothing before it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, snapshot: &Snapshot) -> Result<(), RecordingError> {
        self.line(&without_arguments(snapshot.clone()))
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> Result<W, RecordingError> {
        Ok(self.encoder.finish()?)
    }

    fn line(&mut self, document: &impl Serialize) -> Result<(), RecordingError> {
        let mut line = serde_json::to_vec(document).map_err(RecordingError::Document)?;
        line.push(b'\n');
        self.encoder.write_all(&line)?;
        Ok(self.encoder.flush()?)
    }
}

/// Leaves of each command line the program alone, as captures do: what is handed on must hold no
/// secret that was typed. A title that a server gave itself stays (`postgres: walwriter`).
pub fn without_arguments(mut snapshot: Snapshot) -> Snapshot {
    let commands = snapshot.processes.iter_mut();
    for command in commands.filter_map(|process| process.command.as_mut()) {
        let program = command.find(' ').unwrap_or(command.len());
        if !command[..program].ends_with(':') {
            command.truncate(program);
        }
    }
    snapshot
}

/// Reads a recording, one snapshot after the other.
pub struct Reader<R: Read> {
    lines: BufReader<zstd::Decoder<'static, BufReader<R>>>,
    header: Header,
    line: usize,
    is_cut: bool,
    is_over: bool,
}

enum Line {
    Whole(Vec<u8>),
    Cut,
    End,
}

impl<R: Read> Reader<R> {
    /// Opens a recording.
    ///
    /// # Errors
    /// When its first line is not that of a recording.
    pub fn new(file: R) -> Result<Self, RecordingError> {
        let mut decoder = zstd::Decoder::new(file)?;
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        let header = Header::default();
        let lines = BufReader::new(decoder);
        let mut reader = Self {
            lines,
            header,
            line: 0,
            is_cut: false,
            is_over: false,
        };
        let first = match reader.next_line()? {
            Line::Whole(first) => first,
            Line::Cut | Line::End => Vec::new(),
        };
        let header = serde_json::from_slice::<Header>(&first).ok();
        let header = header.filter(|header| header.format == FORMAT);
        reader.header = header.ok_or_else(|| {
            let found = String::from_utf8_lossy(&first).chars().take(60).collect();
            RecordingError::NoRecording { found }
        })?;
        Ok(reader)
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether the recording ended in the middle, known when there is no further snapshot.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn next_line(&mut self) -> Result<Line, RecordingError> {
        let mut line = Vec::new();
        self.line += 1;
        let read = self
            .lines
            .by_ref()
            .take(LINE_BYTES_MAX + 1)
            .read_until(b'\n', &mut line);
        if line.len() as u64 > LINE_BYTES_MAX {
            return Err(RecordingError::LineTooLong { line: self.line });
        }
        match read {
            // What decompresses no further was cut off, or is damaged from here on.
            Err(_) => Ok(Line::Cut),
            Ok(0) => Ok(Line::End),
            Ok(_) if line.last() != Some(&b'\n') => Ok(Line::Cut),
            Ok(_) => Ok(Line::Whole(line)),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Snapshot, RecordingError>;

    /// The next snapshot; nothing follows an error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let result = match self.next_line() {
            Ok(Line::Whole(line)) => {
                let snapshot = serde_json::from_slice(&line);
                snapshot.map_err(|cause| RecordingError::Line {
                    line: self.line,
                    cause,
                })
            }
            Ok(end) => {
                self.is_cut = matches!(end, Line::Cut);
                self.is_over = true;
                return None;
            }
            Err(error) => Err(error),
        };
        self.is_over = result.is_err();
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ProcessSnapshot;
    use proptest::prelude::*;

    fn recording(count: u32) -> (Vec<u8>, Vec<Snapshot>) {
        let at = |at: u32| Snapshot {
            uptime_s: f64::from(at),
            ..Snapshot::default()
        };
        let snapshots: Vec<Snapshot> = (0..count).map(at).collect();
        let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
        for snapshot in &snapshots {
            writer.write(snapshot).unwrap();
        }
        (writer.finish().unwrap(), snapshots)
    }

    #[test]
    fn what_was_recorded_is_replayed() {
        let (bytes, snapshots) = recording(5);
        let mut reader = Reader::new(&bytes[..]).unwrap();
        let replayed: Result<Vec<Snapshot>, _> = reader.by_ref().collect();
        assert_eq!(replayed.unwrap(), snapshots);
        assert!(!reader.is_cut());
    }

    #[test]
    fn arguments_are_not_recorded_and_titles_are() {
        let of = |command: &str| ProcessSnapshot {
            command: Some(command.to_owned()),
            ..ProcessSnapshot::default()
        };
        let commands = [
            "mysql -psecret",
            "postgres: walwriter",
            "/bin/a:b --key x",
            "",
            "a é",
        ];
        let snapshot = Snapshot {
            processes: commands.map(of).to_vec(),
            ..Snapshot::default()
        };
        let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
        writer.write(&snapshot).unwrap();
        let bytes = writer.finish().unwrap();
        let replayed = Reader::new(&bytes[..]).unwrap().next().unwrap().unwrap();
        let expected = ["mysql", "postgres: walwriter", "/bin/a:b", "", "a"].map(of);
        assert_eq!(replayed.processes, expected);
    }

    #[test]
    fn a_malformed_line_is_named_by_its_number() {
        let text = format!(
            "{{\"format\":\"{FORMAT}\",\"host\":\"\",\"kernel\":\"\",\
                            \"target\":\"\",\"every_s\":1.0}}\nno\n"
        );
        let bytes = zstd::encode_all(text.as_bytes(), 1).unwrap();
        let error = Reader::new(&bytes[..])
            .unwrap()
            .next()
            .unwrap()
            .unwrap_err();
        assert!(
            error.to_string().starts_with("line 2: expected a snapshot"),
            "{error}"
        );
        let other = zstd::encode_all(&b"{\"format\":\"x\"}\n"[..], 1).unwrap();
        let error = Reader::new(&other[..]).err().unwrap().to_string();
        assert!(error.starts_with("not a recording"), "{error}");
    }

    proptest! {
        #[test]
        fn a_recording_cut_anywhere_replays_what_is_whole(cut in 0..1000_usize) {
            let (bytes, snapshots) = recording(8);
            let cut = cut % bytes.len();
            if let Ok(mut reader) = Reader::new(&bytes[..cut]) {
                let replayed: Result<Vec<Snapshot>, _> = reader.by_ref().collect();
                let replayed = replayed.unwrap();
                prop_assert_eq!(&replayed[..], &snapshots[..replayed.len()]);
                prop_assert!(reader.is_cut());
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            if let Ok(reader) = Reader::new(&bytes[..]) {
                let _ = reader.count();
            }
        }
    }
}
