//! Searches bytes for the words of a search and for similar words, in one pass.

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, Input, MatchKind, Span};

use super::near::{Encoding, NearWord, token_at};
use crate::scan::probe::{PIECE, Probe, has_accents, is_escaped, rarest};
use crate::session::terms::{MOST, SearchWords};
use crate::system::fsio::Buffer;

/// Beginning of an escape, such as `\u00e9`.
const ESCAPE: &[u8] = b"\\u";
/// First digits of an escape. With one of them, the pattern is as long as a piece, which is faster than two bytes.
const DIGITS: &[u8] = b"0123456789abcdef";
/// This bit is set in small letters and in digits, so that capitals with it are small letters.
const SMALL: u8 = 0x20;

/// A search for pieces of words.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Pieces of the words.
    words: PieceGroup,
    /// Pieces of the words and of similar words.
    all: PieceGroup,
    near: Vec<Option<NearWord>>,
}

/// Pieces that are searched for together.
#[derive(Debug)]
struct PieceGroup {
    pieces: Vec<SievePiece>,
    automaton: Automaton,
}

/// A piece to search for; its bytes have the bit of small letters.
#[derive(Clone, Debug)]
struct SievePiece {
    bytes: Vec<u8>,
    meaning: Meaning,
}

/// The meaning of a piece in some bytes.
#[derive(Clone, Debug)]
enum Meaning {
    /// A run of letters that a word has: the number of the word, the run, and the start of the piece in it.
    Word(usize, Vec<u8>, usize),
    /// A part of a word that may be similar.
    Near,
    /// An escape, which may be a letter.
    Escape,
}

/// The words that some bytes may have; bit 0 is the first word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Has {
    pub words: u32,
    pub near: u32,
    /// Set if any word may occur: a letter is escaped, or has an accent.
    pub anything: bool,
}

/// The words that are searched for; bit 0 is the first word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SieveWords {
    /// The words that end the search when all are found.
    pub words: u32,
    /// The words among these that must be found to end the search.
    pub unseen: u32,
    /// The words to which a similar one may occur.
    pub near: u32,
    pub encoding: Encoding,
}

impl SieveWords {
    fn is_met(self, has: Has) -> bool {
        let Self { words, unseen, near, .. } = self;
        has.anything || has.words != 0 && unseen & !has.words == 0 || words == 0 && near & !has.near == 0
    }
}

impl Pieces {
    /// Makes the automaton; `None` if bytes exclude nothing.
    pub(super) fn from_words(words: &SearchWords) -> Option<Self> {
        let probes: Option<Vec<Probe>> = words.terms.iter().map(Probe::for_term).collect();
        // With an excluded word, every message must be read. A mask has a bit for each word.
        let probes = probes.filter(|_| !words.has_excluded() && words.terms.len() <= MOST)?;
        let piece = |(term, probe): (usize, Probe)| {
            let (run, piece) = probe.into_parts();
            SievePiece { bytes: run[piece.clone()].to_vec(), meaning: Meaning::Word(term, run, piece.start) }
        };
        let own: Vec<SievePiece> = probes.into_iter().enumerate().map(piece).collect();
        let near: Vec<Option<NearWord>> =
            words.terms.iter().map(|term| term.word().and_then(NearWord::from_word)).collect();
        let pieces = near.iter().flatten().flat_map(NearWord::pieces);
        let pieces = pieces.map(|piece| SievePiece { bytes: piece[rarest(&piece)].to_vec(), meaning: Meaning::Near });
        let all = own.iter().cloned().chain(pieces).collect();
        Some(Self { words: PieceGroup::from_pieces(own)?, all: PieceGroup::from_pieces(all)?, near })
    }

    /// Returns the length of the longest run of letters that a word has.
    pub(super) fn longest(&self) -> usize {
        let runs = self.words.pieces.iter().map(|piece| match &piece.meaning {
            Meaning::Word(_, run, _) => run.len(),
            Meaning::Near | Meaning::Escape => 0,
        });
        runs.max().unwrap_or(0)
    }

    /// Returns whether words similar to a word are found.
    pub(super) fn finds_near(&self, term: usize) -> bool {
        self.near[term].is_some()
    }

    /// Searches bytes until all requested words are found.
    pub(super) fn search(&self, bytes: &[u8], requested: SieveWords) -> Has {
        let (mut small, mut any) = (Buffer::new(bytes.len()), 0);
        for (small, byte) in small.iter_mut().zip(bytes) {
            *small = byte | SMALL;
            any |= byte;
        }
        let mut has = Has { anything: !any.is_ascii() && has_accents(bytes), ..Has::default() };
        let PieceGroup { pieces, automaton } = if requested.near == 0 { &self.words } else { &self.all };
        let (mut from, mut looked_up_to) = (0, 0);
        while !requested.is_met(has) {
            let Some(at) = automaton.find(&small, from) else { break };
            // Other pieces may begin at the same place, or inside of this one.
            from = at + 1;
            for piece in pieces.iter().filter(|piece| small[at..].starts_with(&piece.bytes)) {
                match &piece.meaning {
                    Meaning::Word(term, run, start) => {
                        let found = at.checked_sub(*start).and_then(|at| bytes.get(at..at + run.len()));
                        let is_there = found.is_some_and(|found| found.eq_ignore_ascii_case(run));
                        has.words |= u32::from(is_there) << term & requested.words;
                    }
                    Meaning::Near if at >= looked_up_to => {
                        let token = token_at(bytes, at);
                        let is_near = |word: &Option<NearWord>| {
                            word.as_ref().is_some_and(|word| word.is_near(bytes, &token, requested.encoding))
                        };
                        for (term, _) in self.near.iter().enumerate().filter(|(_, word)| is_near(word)) {
                            has.near |= 1 << term & requested.near;
                        }
                        looked_up_to = token.end;
                    }
                    Meaning::Near => {}
                    Meaning::Escape => has.anything |= bytes[at..].starts_with(ESCAPE) && is_escaped(bytes, at),
                }
            }
        }
        has
    }
}

impl PieceGroup {
    /// Adds the pieces that find escapes; `None` if there are too many pieces.
    fn from_pieces(mut pieces: Vec<SievePiece>) -> Option<Self> {
        let escape = |end: &[u8]| {
            let bytes = [ESCAPE, end].concat().iter().map(|byte| byte | SMALL).collect();
            SievePiece { bytes, meaning: Meaning::Escape }
        };
        if pieces.iter().any(|piece| piece.bytes.len() < PIECE) {
            pieces.push(escape(b""));
        } else {
            pieces.extend(DIGITS.chunks(1).map(escape));
        }
        let automaton = Automaton::from_group(&pieces)?;
        Some(Self { pieces, automaton })
    }
}

/// Finds the next place at which any of several pieces begins.
#[derive(Debug)]
enum Automaton {
    /// A search with SIMD, for up to 128 pieces; an [`AhoCorasick`] prefers single bytes, which are more frequent.
    Packed(Searcher),
    Any(AhoCorasick),
}

impl Automaton {
    fn from_group(pieces: &[SievePiece]) -> Option<Self> {
        let bytes = || pieces.iter().map(|piece| &piece.bytes);
        let packed = Searcher::new(bytes()).map(Self::Packed);
        let any = || AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(bytes());
        packed.or_else(|| any().ok().map(Self::Any))
    }

    fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let found = match self {
            Self::Packed(searcher) => searcher.find_in(bytes, Span { start: from, end: bytes.len() }),
            Self::Any(automaton) => automaton.find(Input::new(bytes).range(from..)),
        };
        found.map(|found| found.start())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::nearly::slips;
    use crate::session::terms::fold::folded;

    fn near(word: &str, json: &str) -> bool {
        near_in(word, json, Encoding::Json)
    }

    fn near_in(word: &str, bytes: &str, encoding: Encoding) -> bool {
        let words = SearchWords::parse(&[word.to_owned()]);
        let requested = SieveWords { near: 1, encoding, ..SieveWords::default() };
        let has = Pieces::from_words(&words).expect("pieces").search(bytes.as_bytes(), requested);
        has.near == 1 || has.anything
    }

    #[test]
    fn sieve_finds_similar_words_in_json_bytes() {
        for (word, json) in [
            ("realy", r#"{"text":"the relay is"}"#),
            ("rlay", r#"{"text":"The RELAY"}"#),
            ("realy", r#"{"text":"one\nrelay"}"#),
            ("realy", r#"{"text":"\u00e4relay"}"#),
            ("realy", r#"{"text":"r\u00e9lay"}"#),
            ("realy", r#"{"text":"a rélay"}"#),
            ("realy", r#"{"text":"the relay—not…"}"#),
            ("realy", r#"{"text":"„relayQueue“"}"#),
            ("budgte", r#"{"text":"let retryBudget"}"#),
            ("certficaet", r#"{"text":"certificate"}"#),
            ("nwohere", r#"{"text":"C:\\nowhere"}"#),
        ] {
            assert!(near(word, json), "{word} in {json}");
        }
        for (word, json) in [("conten", r#"{"content":"x"}"#), ("qqzz", "a zz"), ("realy", r#"{"text":"a player"}"#)] {
            assert!(!near(word, json), "{word} in {json}");
        }
    }

    #[test]
    fn sieve_finds_similar_words_in_text_that_looks_like_json() {
        for (word, text) in
            [("conten", r#"{"content":"x"}"#), ("nwohere", r"C:\nowhere"), ("nwohere", r"\unowhere nowhere")]
        {
            assert!(near_in(word, text, Encoding::Text), "{word} in {text}");
        }
    }

    #[test]
    fn sieve_finds_all_words_in_one_pass() {
        let words = SearchWords::parse(&["relay", "RELAYED", "mails", "realy"].map(str::to_owned));
        let pieces = Pieces::from_words(&words).expect("pieces");
        let search = |text: &str, unseen| {
            pieces.search(text.as_bytes(), SieveWords { words: 0b1111, unseen, near: 0b1000, ..SieveWords::default() })
        };
        assert_eq!(search("the Relay", 0b1111), Has { words: 0b0011, near: 0b1000, anything: false });
        assert_eq!(search("mAil relay", 0), Has { words: 0b0100, ..Has::default() });
        assert_eq!(search("mAil relay", 0b0010), Has { words: 0b0111, near: 0b1000, anything: false });
        assert!(search(r"m\u0061il", 0).anything);
    }

    #[test]
    fn sieve_finds_more_pieces_than_packed_search() {
        let letters = ["ba", "ke", "lo", "mu", "na", "po"].map(str::to_owned);
        let pairs = letters.iter().flat_map(|a| letters.iter().map(move |b| format!("{a}{b}xquzbar")));
        let texts: Vec<String> = pairs.take(MOST + 1).collect();
        assert!(Pieces::from_words(&SearchWords::parse(&texts)).is_none(), "a mask has 32 bits");
        let texts = &texts[..MOST];
        let words = SearchWords::parse(texts);
        let pieces = Pieces::from_words(&words).expect("pieces");
        assert!(matches!(pieces.all.automaton, Automaton::Any(_)), "{:?}", pieces.all);
        for (term, text) in texts.iter().enumerate() {
            let requested = SieveWords { words: u32::MAX, unseen: 1 << term, near: u32::MAX, ..SieveWords::default() };
            assert_eq!(pieces.search(text.as_bytes(), requested).words, 1 << term, "{text}");
        }
    }

    proptest! {
        #[test]
        fn sieve_never_misses_similar_word(
            word in "[abc]{4,12}",
            edits in prop::collection::vec((0_u8..4, 0_usize..12, "[abcBé]"), 0..3),
            before in "( |\\\\n|Ab|é|. ){0,2}",
        ) {
            let mut edited: Vec<char> = word.chars().collect();
            for (kind, at, letter) in edits {
                let (at, letter) = (at % edited.len(), letter.chars().next().expect("a letter"));
                match kind {
                    0 => edited[at] = letter,
                    1 => edited.insert(at, letter),
                    2 if at + 1 < edited.len() => edited.swap(at, at + 1),
                    _ if edited.len() > 1 => drop(edited.remove(at)),
                    _ => {}
                }
            }
            let edited: String = edited.into_iter().collect();
            let text = format!("{before} {edited}.");
            prop_assume!(slips(&folded(&edited), &word).is_some());
            prop_assert!(near(&word, &text), "{word} in {text}");
        }
    }
}
