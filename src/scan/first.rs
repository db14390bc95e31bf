//! Finds the most recently active sessions without reading those that cannot be among them.
//!
//! The modification time of a file bounds the activity of its session, so files are read in that order until no other
//! can matter. A copied home, whose files all were changed recently, is read completely, and so are files without such
//! a bound.

use foldhash::{HashSet, HashSetExt as _};
use jiff::Timestamp;

use super::outside::asked_dirs;
use super::reader::{Notes, Reader};
use super::{Places, Scan, ScanScope, group, is_asked_for, read};
use crate::agent::{self, Agent, Found};
use crate::session::select::{Filter, SortKey, SortRank};
use crate::session::{AgentKind, Located, Problem, Session};
use crate::system::env::Env;
use crate::system::parallel;

/// Maximum number of places for which reading all of them is as fast.
const FEW: usize = 1_024;
/// All places are read if more than one of this many has to be.
const AT_MOST_ONE_IN: usize = 4;
/// Size of the first batch as a multiple of the requested sessions; at least `FEWEST`.
const MARGIN: usize = 4;
const FEWEST: usize = 64;

/// A session's name.
type SessionName<'p> = (AgentKind, &'p str);

/// A place that is waiting to be read. The last in this order may be the newest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    /// Set if the place has to be read in any case.
    is_unbounded: bool,
    not_after: Option<Timestamp>,
    at: usize,
}

impl Places {
    /// Reads the first sessions by activity: the requested number of those that pass, and possibly some more. `None` if
    /// finding the first one needs all sessions.
    pub(crate) fn first(
        &self,
        env: &Env,
        filter: &Filter,
        scope: ScanScope,
        count: usize,
        passes: impl Fn(&Session) -> bool,
    ) -> Option<Scan> {
        if self.places.len() <= FEW || env.clock.is_set || depends_on_others(env, filter) {
            return None;
        }
        let first = self.names_of_first(env, filter, scope, count, passes)?;
        self.read_first(env, scope, first)
    }

    /// Finds the names of the first sessions, and the problems of reading them.
    fn names_of_first(
        &self,
        env: &Env,
        filter: &Filter,
        scope: ScanScope,
        count: usize,
        passes: impl Fn(&Session) -> bool,
    ) -> Option<(HashSet<SessionName<'_>>, Vec<Problem>)> {
        let waiting = self.waiting(filter);
        let unbounded = waiting.partition_point(|place| place.is_unbounded);
        let most = waiting.len() / AT_MOST_ONE_IN;
        let requested = ScanScope { sizes: false, ..scope };
        let (mut seen, mut lines, mut problems) = (HashSet::new(), Vec::new(), Vec::new());
        let (mut begin, mut end) = (0, unbounded + (MARGIN * count).max(FEWEST));
        while end <= most {
            let of_place = |place: &Waiting| name(&self.places[place.at]);
            let names: HashSet<SessionName<'_>> =
                waiting[begin..end].iter().map(of_place).filter(|name| seen.insert(*name)).collect();
            for session in self.read_named(env, &names, requested, &mut problems)? {
                if passes(&session) {
                    lines.push((
                        SortRank::from_session(&session, SortKey::Active),
                        session.agent,
                        session.id().to_owned(),
                    ));
                }
            }
            lines.sort();
            lines.truncate(count);
            let last =
                count.checked_sub(1).and_then(|last| lines.get(last)).and_then(|(rank, ..)| rank.believable_time());
            let needed = last.map(|last| waiting.partition_point(|it| it.is_unbounded || it.not_after >= Some(last)));
            begin = end;
            match needed {
                Some(needed) if needed <= end => {
                    let first = lines.iter().map(|(_, agent, id)| (*agent, &**id));
                    let first: HashSet<_> = first.collect();
                    let names = self.places.iter().map(name).filter(|name| first.contains(name)).collect();
                    return Some((names, problems));
                }
                Some(needed) => end = needed,
                None => end *= MARGIN,
            }
        }
        None
    }

    /// Sorts the places in reading order.
    fn waiting(&self, filter: &Filter) -> Vec<Waiting> {
        let waiting = parallel::map(self.places.iter().enumerate(), |(at, place)| {
            let not_after = agent::by_kind(place.agent())?.not_after(place);
            let is_shown = filter.all || !place.is_subagent || not_after.is_none();
            is_shown.then(|| Waiting { is_unbounded: not_after.is_none(), not_after, at })
        });
        let mut waiting: Vec<Waiting> = waiting.into_iter().flatten().collect();
        waiting.sort_unstable_by(|a, b| b.cmp(a));
        waiting
    }

    /// Reads every copy of some sessions; `None` if the choice between copies depends on other sessions.
    fn read_named(
        &self,
        env: &Env,
        names: &HashSet<SessionName<'_>>,
        scope: ScanScope,
        problems: &mut Vec<Problem>,
    ) -> Option<Vec<Session>> {
        let places: Vec<Located> = self.places.iter().filter(|place| names.contains(&name(place))).cloned().collect();
        let notes = Notes::of(env, &places, [], scope.counts, problems);
        let reader = Reader { env, notes: &notes, wanted: scope, inspector: &self.inspector };
        let sessions = group(reader.copies(places, problems, &self.watcher), scope);
        let is_open =
            |session: &Session| session.copies.len() > 1 && session.copies.iter().any(|copy| copy.launch_dir.is_none());
        Some(sessions).filter(|sessions| !sessions.iter().any(is_open))
    }

    /// Reads these sessions with the same result as a full scan; `None` if there is a pointer, because other pointers
    /// may be in the directories of sessions that were not read.
    fn read_first(&self, env: &Env, scope: ScanScope, first: (HashSet<SessionName<'_>>, Vec<Problem>)) -> Option<Scan> {
        let (names, found) = first;
        let mut problems = self.problems.clone();
        problems.extend(found);
        let picked = self.places.iter().filter(|place| names.contains(&name(place))).cloned().collect();
        let mut scan = read(env, picked, &self.places, scope, problems, &self.watcher, &self.inspector);
        scan.add_pointers(env);
        let is_pointed = |session: &Session| !session.pointers.is_empty();
        Some(scan).filter(|scan| scan.dangling.is_empty() && !scan.sessions.iter().any(is_pointed))
    }
}

fn name(place: &Located) -> SessionName<'_> {
    (place.agent(), place.id.as_str())
}

/// Returns whether the filter needs more than a session and its copies, or sessions may be in directories that only
/// other sessions record.
pub(super) fn depends_on_others(env: &Env, filter: &Filter) -> bool {
    let asked = asked_dirs(env, filter);
    let lies_elsewhere = |agent: &dyn Agent| {
        let found = || agent.locate_in(&asked, &HashSet::new(), env);
        agent.is_anywhere(env)
            || matches!(found(), Found { places, problems, .. } if !(places.is_empty() && problems.is_empty()))
    };
    !filter.dirs.is_empty()
        // Only the records of a session show whether it was active in a span of time.
        || filter.until.is_some()
        || !filter.kin.is_empty()
        || filter.agents.iter().any(|agent| agent.session_owner() != *agent)
        || agent::all().iter().any(|agent| is_asked_for(agent.kind(), &filter.agents) && lies_elsewhere(*agent))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::SystemTime;

    use jiff::SignedDuration;
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::scan::locate;
    use crate::session::select::sort;
    use crate::system::env::tests::fixed;

    const PROJECTS: [&str; 4] = ["-w-copper", "-w-harbour", "-w-lantern", "other"];

    /// A transcript with its contents and its times, in minutes before now.
    #[derive(Clone, Debug)]
    struct Transcript {
        id: u32,
        project: usize,
        /// The time of the last change; `None` for a file whose time is older than its records.
        changed: Option<i64>,
        /// Times of its records; empty in a file without times.
        records: Vec<i64>,
        /// The kind of session.
        sort: u8,
    }

    fn transcript() -> impl Strategy<Value = Transcript> {
        let minutes = || -20_i64..3_000;
        // Most files were last changed when their last record was written; only then is there a shortcut.
        let changed = prop_oneof![
            8 => Just(None),
            1 => minutes().prop_map(|at| Some(Some(at))),
            1 => Just(Some(None)),
        ];
        let records = prop_oneof![20 => prop::collection::vec(minutes(), 1..3), 1 => Just(Vec::new())];
        // Few ids, so that some sessions have several copies.
        (0_u32..4_000, 0..PROJECTS.len(), changed, records, 0_u8..16).prop_map(
            |(id, project, changed, records, sort)| {
                let last = records.iter().min().copied();
                Transcript { id, project, changed: changed.unwrap_or(last.or(Some(500))), records, sort }
            },
        )
    }

    /// The current time, in the future: files written now count as changed long ago, and only times that are set
    /// matter.
    fn now() -> Timestamp {
        Timestamp::from_second(Timestamp::now().as_second()).expect("a time") + SignedDuration::from_hours(24 * 365)
    }

    fn before(now: Timestamp, minutes: i64) -> Timestamp {
        now - SignedDuration::from_mins(minutes)
    }

    fn write(home: &Path, now: Timestamp, transcript: &Transcript) {
        let Transcript { id, project, changed, records, sort } = transcript;
        let project = PROJECTS[*project];
        let id = format!("{id:08x}-0000-4000-8000-000000000000");
        let dir = home.join(".claude/projects").join(project);
        let path = match sort {
            0 => dir.join(&id).join("subagents/agent-a.jsonl"),
            _ => dir.join(format!("{id}.jsonl")),
        };
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        let dir = match sort {
            // Only other sessions of the project record its directory.
            1 => String::new(),
            2 => r#","cwd":"/w/elsewhere""#.to_owned(),
            _ if project == "other" => r#","cwd":"/w/other""#.to_owned(),
            _ => format!(r#","cwd":"{}""#, project.replace('-', "/")),
        };
        let role = if *sort == 3 { "assistant" } else { "user" };
        let records = records.iter().map(|at| Some(before(now, *at))).chain(records.is_empty().then_some(None));
        let lines = records.map(|at| {
            let at = at.map(|at| format!(r#","timestamp":"{at}""#)).unwrap_or_default();
            format!(r#"{{"type":"{role}"{at}{dir},"message":{{"content":"{id}"}}}}{}"#, "\n")
        });
        let mut text: String = lines.collect();
        if *sort == 4 {
            text.push_str(r#"{"type":"user","timest"#);
        }
        fs::write(&path, text).expect("a transcript");
        if let Some(changed) = changed {
            let file = File::options().write(true).open(&path).expect("a file");
            file.set_modified(SystemTime::from(before(now, *changed))).expect("a time");
        }
    }

    fn filter_and_sort(mut sessions: Vec<Session>, count: usize, filter: &Filter) -> Vec<Session> {
        sessions.retain(|session| filter.matches(session) && filter.shows_kind(session));
        sort(&mut sessions, SortKey::Active, false);
        sessions.truncate(count);
        sessions
    }

    /// Compares the shortcut with the full scan; returns whether there was a shortcut.
    fn compare(transcripts: &[Transcript], count: usize, filter: &Filter) -> bool {
        let home = tempfile::tempdir().expect("a directory");
        let mut env = fixed();
        (env.home, env.foreign_home, env.clock.is_set) = (home.path().to_owned(), true, false);
        env.clock.now = now();
        transcripts.iter().for_each(|transcript| write(home.path(), env.clock.now, transcript));
        let places = locate(&env, &[]);
        let passes = |session: &Session| filter.matches(session) && filter.shows_kind(session);
        let scope = ScanScope::GLANCE;
        assert!(!depends_on_others(&env, filter));
        let first = places.names_of_first(&env, filter, scope, count, passes);
        let first = first.and_then(|first| places.read_first(&env, scope, first));
        let Some(first) = first else { return false };
        let all = places.read_with_dirs(&env, filter, scope);
        assert_eq!(first.problems, all.problems);
        let [first, all] = [first, all].map(|scan| format!("{:?}", filter_and_sort(scan.sessions, count, filter)));
        assert_eq!(first, all);
        true
    }

    #[test]
    fn fast_path_equals_full_scan() {
        let taken = AtomicUsize::new(0);
        let worlds = (prop::collection::vec(transcript(), 300..400), 0_usize..12, any::<bool>(), -900_i64..300);
        let mut runner = TestRunner::new(ProptestConfig::with_cases(ProptestConfig::default().cases / 16));
        let run = runner.run(&worlds, |(transcripts, count, all, before)| {
            let before = (before > 0).then(|| now() - SignedDuration::from_mins(before));
            let has_shortcut = compare(&transcripts, count, &Filter { all, before, ..Filter::default() });
            taken.fetch_add(usize::from(has_shortcut), Ordering::Relaxed);
            Ok(())
        });
        run.expect("the same sessions");
        assert!(taken.into_inner() > 4, "most worlds of this sort have one");
    }

    /// Returns transcripts whose files were written in place, an hour apart.
    fn in_place() -> Vec<Transcript> {
        let one = |id| Transcript {
            id,
            project: 0,
            changed: Some(60 * i64::from(id)),
            records: vec![60 * i64::from(id)],
            sort: 9,
        };
        (1..400).map(one).collect()
    }

    #[test]
    fn equal_file_times_disable_fast_path() {
        let filter = Filter::default();
        assert!(compare(&in_place(), 5, &filter));
        let copied: Vec<Transcript> = in_place().into_iter().map(|it| Transcript { changed: Some(1), ..it }).collect();
        assert!(!compare(&copied, 5, &filter));
    }

    #[test]
    fn timestamp_after_file_time_does_not_change_order() {
        let mut transcripts = in_place();
        for (at, changed) in [(300, Some(60 * 300)), (301, None)] {
            // The session claims to be newer than all others.
            (transcripts[at].records, transcripts[at].changed) = (vec![1], changed);
        }
        assert!(compare(&transcripts, 5, &Filter::default()));
        // The time of this session is in the future.
        transcripts[300].records = vec![-60];
        assert!(compare(&transcripts, 5, &Filter::default()));
    }

    #[test]
    fn scan_reads_copies_of_session_together() {
        let mut transcripts = in_place();
        let copies: Vec<Transcript> = transcripts[..10]
            .iter()
            .map(|it| Transcript { project: 1, changed: Some(60 * 390), ..it.clone() })
            .collect();
        transcripts.extend(copies);
        assert!(compare(&transcripts, 5, &Filter::default()));
    }
}
