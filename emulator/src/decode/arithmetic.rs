//! Arithmetic, and what has no model.

use super::{Decoder, Instruction, NotModelled};
use crate::arith::{Request, evaluator};
use crate::layout::Symbol;
use crate::program::{Evaluate, Kind, SOURCES_MAX, Source, Target, Uninterpreted};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::types::PtxType;
use xxhash_rust::xxh3::xxh3_64;

/// Roots without a result, although a register stands first.
const WITHOUT_RESULT: [&str; 1] = ["tcgen05.dealloc"];

/// Roots that do something beside writing their results.
const WITH_EFFECT: [&str; 12] = [
    "atom",
    "red",
    "st",
    "sust",
    "sured",
    "cp",
    "wgmma",
    "tcgen05",
    "multimem",
    "mbarrier",
    "tensormap",
    "clusterlaunchcontrol",
];

/// Instructions of these roots that do no more than give a result, unless they are ordered.
const WITHOUT_EFFECT: [&str; 3] =
    ["multimem.ld_reduce", "clusterlaunchcontrol.query_cancel", "tensormap.query"];

/// Whether an instruction without a model does something beside giving its results.
fn has_effect(mnemonic: &str) -> bool {
    let mut words = mnemonic.split('.');
    let root = words.next().unwrap_or_default();
    let is_ordered = words.any(|word| matches!(word, "relaxed" | "acquire" | "volatile"));
    WITH_EFFECT.contains(&root)
        && (is_ordered || !WITHOUT_EFFECT.iter().any(|known| mnemonic.starts_with(known)))
}

/// Roots that compute from what they are given alone, or read textures: a kernel that writes what it reads so has no defined result,
/// and may read once for twice.
const REPEATABLE: [&str; 14] = [
    "add",
    "cos",
    "cvt",
    "fma",
    "mul",
    "set",
    "sin",
    "spcompress",
    "spdecompress",
    "sub",
    "tex",
    "tld4",
    "txq",
    "suq",
];

/// Instructions whose first two operands are results.
const TWO_RESULTS: [&str; 3] = ["spcompress", "tcgen05.ld.red", "tcgen05.ld.spcompress"];

impl Decoder<'_> {
    /// What the evaluators know.
    pub(super) fn arithmetic(&mut self, of: &Instruction<'_>) -> Result<Kind, NotModelled> {
        if of.items.is_empty() || of.items.iter().any(|item| item.is_address) {
            return Err(NotModelled);
        }
        let mut targets = Vec::new();
        for &operand in of.item(0)? {
            targets.push(self.target(operand)?);
        }
        let result_count = of.items[0].operands().len();
        let read = &of.operands[result_count..];
        let mut sources = Vec::new();
        for (at, &operand) in read.iter().enumerate() {
            sources.push(self.source(operand, source_type(of, at))?);
        }
        // A selector of a vector register or special register was resolved with the operand.
        let selectors: Vec<Option<String>> = of
            .operands
            .iter()
            .map(|operand| operand.selector().filter(|_| !self.is_component(*operand)).map(|one| one.text()))
            .collect();
        let selectors: Vec<Option<&str>> = selectors.iter().map(Option::as_deref).collect();
        let negated: Vec<bool> = read.iter().map(|operand| is_negated(*operand)).collect();
        if of.root() == "setp" && targets.len() == 2 && targets[0] == targets[1] {
            // The first result stays, as `ptxas` has it.
            targets[1] = Target::SINK;
        }
        let request = Request {
            mnemonic: of.mnemonic,
            results: result_count,
            sources: read.len(),
            selectors: &selectors,
            negated: &negated,
            dialect: self.dialect(),
        };
        let evaluator = evaluator(&request).ok_or(NotModelled)?;
        if matches!(of.root(), "addc" | "subc" | "madc") {
            sources.push(Source::Slot(self.frame.carry));
        }
        if of.has("cc") {
            targets.push(Target { slot: self.frame.carry, mask: 1 });
        }
        if sources.len().max(targets.len()) > SOURCES_MAX {
            return Err(NotModelled);
        }
        let (sources, targets) = (sources.into(), targets.into());
        Ok(Kind::Evaluate(Box::new(Evaluate { evaluator, sources, targets })))
    }

    fn is_component(&self, operand: Operand) -> bool {
        match operand.vreg() {
            Some(vreg) => self.frame.vregs[vreg.0 as usize].lanes > 1,
            None => true,
        }
    }

    /// An instruction without a model: what it reads and writes by its shape alone.
    pub(super) fn uninterpreted(&mut self, of: &Instruction<'_>, is_verbatim: bool) -> Kind {
        let root = of.root();
        let has_result = !is_verbatim
            && !WITHOUT_RESULT.iter().any(|known| of.mnemonic.starts_with(known))
            && of.items.first().is_some_and(|item| !item.is_address && !item.is_list);
        let result_items = match has_result {
            true if TWO_RESULTS.iter().any(|known| of.mnemonic.starts_with(known)) => 2,
            true => 1,
            false => 0,
        };
        let result_count: usize = of.items.iter().take(result_items).map(|item| item.operands().len()).sum();
        let mut targets = Vec::new();
        let mut sources = Vec::new();
        for (at, &operand) in of.operands.iter().enumerate() {
            if at < result_count {
                targets.extend(self.targets(operand).unwrap_or_default());
            }
            // Accumulators are read as well; a result that is none costs nothing but is no input.
            if at >= result_count || root == "wgmma" {
                sources.extend(self.whatever(operand, of.last_type()));
            }
        }
        if is_verbatim {
            let registers = of.operands.iter().filter(|operand| operand.vreg().is_some());
            targets = registers.flat_map(|&operand| self.targets(operand).unwrap_or_default()).collect();
        }
        Kind::Uninterpreted(Box::new(Uninterpreted {
            mnemonic: of.mnemonic.to_owned(),
            hash: xxh3_64(of.mnemonic.as_bytes()),
            sources: sources.into(),
            is_logged: targets.is_empty() || is_verbatim || has_effect(of.mnemonic),
            is_repeatable: REPEATABLE.contains(&root),
            names_memory: is_verbatim && of.operands.iter().any(|&operand| self.names_memory(operand)),
            targets: targets.into(),
        }))
    }

    /// Whether copied text has the name of a variable in it.
    fn names_memory(&self, operand: Operand) -> bool {
        let OperandKind::Text(literal) = operand.kind() else { return false };
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%".contains(byte);
        let mut words = self.text(literal).split(|byte| !is_of_name(byte));
        words.any(|word| {
            let symbol = self.symbol(&String::from_utf8_lossy(word));
            matches!(symbol, Some(Symbol::Variable { .. } | Symbol::Frame { .. }))
        })
    }

    /// The cells of an operand whatever it is: text and names that have no address by their spelling.
    fn whatever(&mut self, operand: Operand, ty: Option<PtxType>) -> Vec<Source> {
        if let Ok(sources) = self.sources(operand, ty) {
            return sources;
        }
        let hash = match operand.kind() {
            OperandKind::Symbol(name) => xxh3_64(self.name(name).as_bytes()),
            OperandKind::Text(literal) => xxh3_64(self.text(literal).trim_ascii()),
            _ => 0,
        };
        vec![self.constant(hash)]
    }
}

fn is_negated(operand: Operand) -> bool {
    matches!(
        operand.kind(),
        OperandKind::Register { minus: true, .. } | OperandKind::Predicate { negated: true, .. }
    )
}

/// The type of source `at`, for a real literal: the last suffix, but for what `slct` selects from.
fn source_type(of: &Instruction<'_>, at: usize) -> Option<PtxType> {
    if of.root() == "slct" && at < 2 { of.types().next() } else { of.last_type() }
}
