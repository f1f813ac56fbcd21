//! How the pages of an owner in the journal are reached now.

use std::ops::Range;

use journal::Error;
use linux::{Root, proc_stat};
use model::{NodeId, SegmentKind};
use placement::Pattern;

use super::chunk_log::ChunkLine;
use super::memory::{self, Part, PartKind, Source, Stretch, VIEWS_MAX, View};
use super::owner::Owner;
use super::whereabouts;

/// How the pages of an owner are reached: looked up once for all of its chunks.
pub(super) struct Reach {
    pub part: Part,
    /// For huge pages of an object: where processes have it mapped, if our own mapping cannot show
    /// them.
    pub processes: Option<Vec<View>>,
}

impl Reach {
    /// Finds the owner of a chunk; `None` when it is gone, and its memory with it.
    ///
    /// # Errors
    /// When it exists, or may exist, and cannot be reached.
    pub(super) fn find(root: &Root, line: &ChunkLine) -> Result<Option<Self>, Error> {
        let part = |source, kind, views| Part {
            name: String::new(),
            kind,
            page_bytes: line.page_bytes,
            pattern: Pattern::of_one(NodeId(0)),
            source,
            views,
            stretches: Vec::new(),
        };
        match &line.of {
            Owner::Process { pid, start_ticks } => {
                let (pid, start_ticks) = (*pid, *start_ticks);
                let is_same =
                    proc_stat::read(root, pid).is_ok_and(|it| it.start_ticks == start_ticks);
                let kind = PartKind::Private { pid, start_ticks };
                Ok(is_same.then(|| Reach {
                    part: part(Source::Process, kind, Vec::new()),
                    processes: None,
                }))
            }
            Owner::Object { id, name } => {
                let kind = PartKind::Segment(SegmentKind::File);
                let Some(found) = whereabouts::find(root, id, name)? else {
                    return Ok(None);
                };
                let (id, object) = ((*id).into(), found.object);
                let mappings = found.mappings.iter();
                let views = mappings.map(|(pid, it)| View::of(*pid, it, line.page_bytes));
                if object.huge_page_bytes.is_none() {
                    let views = views.take(VIEWS_MAX).collect();
                    let part = part(Source::Window(id, object), kind, views);
                    let processes = None;
                    return Ok(Some(Reach { part, processes }));
                }
                let is_shown = memory::shows_huge_pages(root, &object, line.first);
                let processes = (!is_shown).then(|| views.collect());
                let part = part(Source::HugeObject(id, object), kind, Vec::new());
                Ok(Some(Reach { part, processes }))
            }
        }
    }

    /// Where these pages of the owner are.
    pub(super) fn stretches(&self, pages: &Range<u64>) -> Vec<Stretch> {
        let stretch = |pid, of: Range<u64>, address| Stretch {
            pid,
            first: of.start,
            pages: of.end - of.start,
            address,
        };
        let page_bytes = self.part.page_bytes;
        match (&self.processes, self.part.kind) {
            (None, PartKind::Private { pid, .. }) => {
                vec![stretch(pid, pages.clone(), pages.start * page_bytes)]
            }
            (None, PartKind::Segment(_)) => vec![stretch(0, pages.clone(), 0)],
            (Some(processes), _) => {
                let of_view = |view: &View| {
                    let both = pages.start.max(view.first)..pages.end.min(view.first + view.pages);
                    let address = view.address + (both.start - view.first) * page_bytes;
                    (!both.is_empty()).then(|| stretch(view.pid, both, address))
                };
                processes.iter().filter_map(of_view).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_reached_where_processes_have_them_mapped() {
        let view = |pid, first, pages| View {
            pid,
            first,
            pages,
            address: 1 << 40,
        };
        let reach = |kind, processes| Reach {
            part: Part {
                name: String::new(),
                kind,
                page_bytes: 2 << 20,
                pattern: Pattern::of_one(NodeId(0)),
                source: Source::Process,
                views: Vec::new(),
                stretches: Vec::new(),
            },
            processes,
        };
        let found = |reach: &Reach| {
            let stretches = reach.stretches(&(8..16)).into_iter();
            stretches
                .map(|it| (it.pid, it.first, it.pages, it.address))
                .collect::<Vec<_>>()
        };
        let segment = PartKind::Segment(SegmentKind::File);
        assert_eq!(found(&reach(segment, None)), [(0, 8, 8, 0)]);
        let private = PartKind::Private {
            pid: 7,
            start_ticks: 1,
        };
        assert_eq!(found(&reach(private, None)), [(7, 8, 8, 16 << 20)]);
        let views = vec![
            view(1, 0, 9),
            view(2, 10, 2),
            view(3, 12, 99),
            view(4, 16, 1),
        ];
        let start = 1 << 40;
        let expected = [
            (1, 8, 1, start + (16 << 20)),
            (2, 10, 2, start),
            (3, 12, 4, start),
        ];
        assert_eq!(found(&reach(segment, Some(views))), expected);
    }
}
