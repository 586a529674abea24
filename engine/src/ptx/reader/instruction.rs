//! An instruction: its mnemonic, and the row it becomes.

use super::Reader;
use crate::diagnostics::Diagnostic;
use crate::forms::{MnemonicId, Operands};
use crate::ptx::cursor::Cursor;
use crate::store::left::LeftReason;
use ptxopt_components::form::{Form, FormFlags, Kinds, Role, shape};
use ptxopt_components::ids::{BlockId, CodeId, FormId, Id};
use ptxopt_components::instruction::{InstHead, InstOperands, InstPlace, Marks, OpcodeWord};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::types::{PackedType, PtxType};
use ptxopt_components::vreg::{VRegFlags, VRegName};

impl Reader<'_, '_> {
    /// An instruction: the cursor stands after the root of the mnemonic that starts at `mnemonic`.
    pub(super) fn instruction(
        &mut self,
        first: usize,
        mnemonic: usize,
        guard: Option<Operand>,
    ) -> Result<(), Diagnostic> {
        self.cursor.skip_mnemonic();
        let mut after = self.cursor.pos;
        self.cursor.skip_blank()?;
        let id = if self.cursor.peek() == b'.' {
            let (id, end) = self.spaced_mnemonic(mnemonic)?;
            after = end;
            id
        } else {
            self.forms.mnemonic(&self.cursor.text[mnemonic..after], self.module.dialect)
        };
        let how = self.forms.operands(id);
        if how == Operands::Unknown {
            self.out.unknown_words.push((CodeId::new(self.out.code_spans.len()), mnemonic as u32));
        }
        let read = self.operands(how);
        let wants_verbatim = std::mem::take(&mut self.wants_verbatim) || how == Operands::Unknown;
        match read {
            Ok(()) => {}
            // A copied branch could not follow its label.
            Err(_) if wants_verbatim && how != Operands::Branch => self.verbatim_operands(after)?,
            Err(diagnostic) => return Err(diagnostic),
        }
        self.cursor.pos += 1;
        let id = if how == Operands::Call && self.module.has_never_returning() && self.calls_never_returning()
        {
            self.forms.never_returning(id)
        } else {
            id
        };
        let form = self.forms.form(id, self.shape);
        self.push_instruction(form, first, guard)
    }

    /// Whether the call just read names a function that never returns. It has no results, so the callee comes first; a result may have
    /// the name of such a function.
    fn calls_never_returning(&self) -> bool {
        let has_results = self.shape.first() == Some(&shape::PAREN_OPEN);
        match self.operands.first().map(|callee| callee.kind()) {
            Some(OperandKind::Symbol(name)) if !has_results => {
                self.module.never_returns(self.out.pools.names.bytes(self.cursor.text, name))
            }
            _ => false,
        }
    }

    /// A mnemonic with blanks in it, `mov .u32`: interned without them. Also says where it ends.
    #[cold]
    fn spaced_mnemonic(&mut self, first: usize) -> Result<(MnemonicId, usize), Diagnostic> {
        let mut end = self.cursor.pos;
        while self.cursor.peek() == b'.' {
            self.cursor.pos += 1;
            self.cursor.skip_blank()?;
            self.cursor.skip_mnemonic();
            end = self.cursor.pos;
            self.cursor.skip_blank()?;
        }
        let mut without_blanks = Vec::new();
        let mut source = Cursor::new(&self.cursor.text[..end], first);
        while !source.is_at_end() {
            let from = source.pos;
            source.skip_mnemonic();
            without_blanks.extend_from_slice(&source.text[from..source.pos]);
            source.skip_blank()?;
            if source.pos == from {
                return Err(self.cursor.unexpected("an instruction"));
            }
        }
        Ok((self.forms.mnemonic(&without_blanks, self.module.dialect), end))
    }

    /// Appends the row of an instruction with the operands just read.
    #[inline]
    fn push_instruction(
        &mut self,
        form_id: FormId,
        first: usize,
        guard: Option<Operand>,
    ) -> Result<(), Diagnostic> {
        let form = *self.forms.get(form_id);
        if std::mem::take(&mut self.names_branch_table) && !form.effects.contains(Effects::BRANCH_INDEXED) {
            // The table is written before the branch that names it, and this is none.
            self.leave(LeftReason::TableNamedByNoBranch);
        }
        if form.effects.intersects(Effects::CONTROL) && !form.flags.contains(FormFlags::MODELLED) {
            self.leave(LeftReason::UnknownControlFlow);
        }
        let takes = self.forms.takes(form_id);
        let is_taken = |(operand, takes): (&Operand, &Kinds)| takes.contains(operand.kinds());
        if !self.operands.iter().zip(takes).all(is_taken) {
            self.leave(LeftReason::OperandNotTaken);
        }
        if form.flags.contains(FormFlags::DEFINES) {
            let mut count = 0;
            for (operand, slot) in self.operands.iter_mut().zip(self.forms.slots(form_id)) {
                if operand.vreg().is_some() && matches!(slot.role, Role::Def | Role::DefUse) {
                    *operand = operand.as_definition(slot.role == Role::DefUse);
                    count += 1;
                }
            }
            if count > 1 {
                self.pin_doubles();
            }
        }
        if form.effects != Effects::PURE {
            if form.effects.intersects(Effects::ASYNC | Effects::UNKNOWN) {
                self.pin_registers(&form, form_id);
            }
            if form.effects.intersects(Form::CARRY) {
                self.push_carry(&form)?;
            }
        }
        self.operands.extend(guard);
        let row = InstOperands::store(self.operands, &mut self.out.pools.operands);
        self.out.inst_heads.push(InstHead {
            opcode: OpcodeWord::new(form.root, guard.is_some()),
            form: form_id,
            // Number of labels so far; replaced by the block when all labels are known.
            block: BlockId(self.labels.all.len() as u32),
            marks: form.marks | Marks::AS_READ,
            operand_count: self.operands.len() as u16,
        });
        self.out.inst_operands.push(row);
        self.out.inst_places.push(InstPlace { offset: first as u32 });
        Ok(())
    }

    /// Pins the registers that the instruction just read goes on using after it issues.
    fn pin_registers(&mut self, form: &Form, id: FormId) {
        for (operand, slot) in self.operands.iter().zip(self.forms.slots(id)) {
            if let Some(vreg) = operand.vreg()
                && form.may_use_later(slot)
            {
                self.out.vreg_heads[self.first.vreg + vreg.index()].flags |= VRegFlags::PINNED;
            }
        }
    }

    /// Pins the registers that the instruction just read writes twice: which result they hold in the end depends on the
    /// instruction. In `ld.v2.u32 {%r1, %r1}, [a]` it is the last one, in `setp.lt.s32 %p1|%p1, %r1, %r2` the first.
    fn pin_doubles(&mut self) {
        self.results.clear();
        let results = self.operands.iter().filter(|operand| operand.is_definition());
        self.results.extend(results.filter_map(|operand| operand.vreg()));
        self.results.sort_unstable();
        for pair in self.results.windows(2) {
            if pair[0] == pair[1] {
                self.out.vreg_heads[self.first.vreg + pair[0].index()].flags |= VRegFlags::PINNED;
            }
        }
    }

    /// Appends the carry register as a hidden operand: the only state that PTX instructions share without naming.
    fn push_carry(&mut self, form: &Form) -> Result<(), Diagnostic> {
        let carry = match self.carry {
            Some(carry) => carry,
            None => {
                let name = self.out.pools.names.intern_fresh(self.cursor.text, b"CC.CF");
                let name = VRegName { prefix: name, number: VRegName::WHOLE };
                let vreg = self.new_vreg(PackedType::new(PtxType::B32, 1), VRegFlags::CARRY, name)?;
                *self.carry.insert(vreg)
            }
        };
        self.operands.push(form.carry(carry));
        Ok(())
    }
}
