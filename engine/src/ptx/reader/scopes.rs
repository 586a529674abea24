//! What a name means at a place in a body: declarations, nested scopes and shadowing.
//!
//! Bodies are flattened: the writer declares everything at function level. A declaration keeps its name when nothing
//! else in the function has it; an inner one that shadows or repeats a name gets a fresh one.

use super::Reader;
use super::fresh::FreshNames;
use super::ranges::Ranges;
use crate::diagnostics::{Diagnostic, Problem, shown_name};
use crate::ptx::declaration::RegisterDeclarator;
use ahash::AHashMap;
use ptxopt_components::anchor::Decl;
use ptxopt_components::ids::{Id, Maybe, NameId, VRegId};
use ptxopt_components::operand::OPERAND_ID_MAX;
use ptxopt_components::types::PackedType;
use ptxopt_components::vreg::{VRegFlags, VRegHead, VRegName};

/// What an interned name is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Binding {
    /// Nothing was declared under this name.
    #[default]
    Unbound,
    /// A register declared by its whole name: index of [`Scopes::singles`].
    Register(u32),
    /// A variable of this body, a formal parameter, or something of the module, written under this name.
    Symbol(NameId),
    /// A special register.
    Special(u32),
    /// A jump table, call-target list or prototype of this function.
    Table(u32),
}

/// A register declared by its whole name. It gets an id when it is used.
#[derive(Clone, Copy)]
pub(super) struct Single {
    name: VRegName,
    ty: PackedType,
    flags: VRegFlags,
    vreg: Maybe<VRegId>,
}

/// A scope that is open.
#[derive(Clone, Copy, Default)]
struct OpenScope {
    shadowed: usize,
    ranges: usize,
    /// Names that end in a number.
    numbered: usize,
    labels: usize,
    pending: usize,
    /// Byte offset of its brace.
    offset: usize,
}

/// Names of a function, innermost scope last.
#[derive(Default)]
pub(super) struct Scopes {
    /// By name: what it is bound to, and how many scopes were open when it was bound.
    bindings: Vec<(Binding, u32)>,
    pub(super) singles: Vec<Single>,
    pub(super) ranges: Ranges,
    shadowed: Vec<(NameId, (Binding, u32))>,
    open: Vec<OpenScope>,
    /// By name of a register of the module that this function uses: index of [`Scopes::singles`].
    singles_of_module: AHashMap<NameId, u32>,
    /// `.param` variables declared in this function under their own name.
    pub(super) params: AHashMap<NameId, Decl>,
    /// Some name declared whole in this function may hide a member of a range.
    pub(super) has_digit_shadows: bool,
    pub(super) fresh: FreshNames,
}

impl Scopes {
    /// Forgets the names of a batch.
    pub(super) fn start_batch(&mut self) {
        // What a batch before left open, perhaps at an error, refers to names that are gone.
        self.shadowed.clear();
        self.close_all();
        self.bindings.clear();
        self.fresh.start_batch();
    }

    /// Forgets the names of the function before.
    pub(super) fn start_function(&mut self) {
        self.close_all();
        self.ranges.clear();
        self.singles.clear();
        self.singles_of_module.clear();
        self.has_digit_shadows = false;
        self.params.clear();
        self.fresh.start_function();
    }

    /// Number of open scopes.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Byte offset of the innermost open brace.
    pub(super) fn innermost_offset(&self) -> usize {
        self.open.last().map_or(0, |scope| scope.offset)
    }

    /// How many names that end in a number were declared before the innermost scope opened.
    pub(super) fn innermost_numbered(&self) -> usize {
        self.open.last().map_or(0, |scope| scope.numbered)
    }

    pub(super) fn open(&mut self, offset: usize, labels: usize, pending: usize) {
        let (shadowed, ranges) = (self.shadowed.len(), self.ranges.len());
        let numbered = self.fresh.numbered_count();
        self.open.push(OpenScope { shadowed, ranges, numbered, labels, pending, offset });
    }

    fn close_all(&mut self) {
        while self.depth() > 0 {
            self.close();
        }
    }

    /// Closes the innermost scope; gives where its labels and pending references start.
    pub(super) fn close(&mut self) -> (usize, usize) {
        let scope = self.open.pop().expect("every closing brace was checked against the depth");
        while self.shadowed.len() > scope.shadowed {
            let (name, binding) = self.shadowed.pop().expect("longer than the scope's start");
            self.bindings[name.index()] = binding;
        }
        self.ranges.close(scope.ranges);
        self.fresh.forget_numbered(scope.numbered);
        (scope.labels, scope.pending)
    }

    /// What `name` is bound to.
    #[inline]
    pub(super) fn binding(&self, name: NameId) -> Binding {
        self.bindings.get(name.index()).map_or(Binding::Unbound, |&(binding, _)| binding)
    }

    /// Binds `name` until the innermost scope closes.
    pub(super) fn bind(&mut self, name: NameId, binding: Binding) {
        self.bind_at(name, binding, self.open.len() as u32);
    }

    /// As [`Self::bind`], for what a scope further out declares, when `depth` scopes were open.
    fn bind_at(&mut self, name: NameId, binding: Binding, depth: u32) {
        let before = std::mem::replace(self.slot(name), (binding, depth));
        self.shadowed.push((name, before));
    }

    /// Binds `name` for the rest of the batch.
    pub(super) fn bind_for_batch(&mut self, name: NameId, binding: Binding) {
        *self.slot(name) = (binding, 0);
    }

    fn slot(&mut self, name: NameId) -> &mut (Binding, u32) {
        if self.bindings.len() <= name.index() {
            self.bindings.resize(name.index() + 1, (Binding::Unbound, 0));
        }
        &mut self.bindings[name.index()]
    }

    /// Whether `name` was bound in the innermost scope. Formals and the body are one.
    pub(super) fn is_bound_here(&self, name: NameId) -> bool {
        let formals = u32::from(self.open.len() == Reader::BODY_DEPTH);
        self.is_bound_inside(name, self.open.len() as u32 - 1 - formals)
    }

    /// Whether `name` was bound when more than `depth` scopes were open.
    pub(super) fn is_bound_inside(&self, name: NameId, depth: u32) -> bool {
        let (binding, bound_depth) = self.bindings.get(name.index()).copied().unwrap_or_default();
        binding != Binding::Unbound && bound_depth > depth
    }
}

impl Reader<'_, '_> {
    /// Open scopes where the registers of the module are declared: their own.
    pub(super) const MODULE_DEPTH: u32 = 1;

    /// Open scopes inside a body: the module's registers, the formals, and the body itself.
    pub(super) const BODY_DEPTH: usize = 3;

    /// Registers of the module are never declared again, and other functions share them.
    pub(super) const OF_MODULE: VRegFlags =
        VRegFlags::MODULE.union(VRegFlags::FORMAL).union(VRegFlags::INITIALISED);

    /// The register of a [`Binding::Register`].
    pub(super) fn register_of_single(&mut self, index: u32) -> Result<VRegId, Diagnostic> {
        let single = self.scopes.singles[index as usize];
        if let Some(vreg) = single.vreg.get() {
            return Ok(vreg);
        }
        let vreg = self.new_vreg(single.ty, single.flags, single.name)?;
        self.scopes.singles[index as usize].vreg = Maybe::some(vreg);
        Ok(vreg)
    }

    /// The register of the module with this whole name. It is bound where the module declares it: outside everything
    /// that the function declares.
    #[cold]
    pub(super) fn register_of_module(&mut self, name: NameId) -> Result<Option<VRegId>, Diagnostic> {
        if self.module.registers.is_empty() {
            return Ok(None);
        }
        let bytes = self.out.pools.names.bytes(self.cursor.text, name);
        let Some(ty) = self.module.registers.single(bytes) else { return Ok(None) };
        let Scopes { singles, singles_of_module, .. } = &mut *self.scopes;
        let index = *singles_of_module.entry(name).or_insert_with(|| {
            let name = VRegName { prefix: name, number: VRegName::WHOLE };
            singles.push(Single { name, ty, flags: Self::OF_MODULE, vreg: Maybe::NONE });
            singles.len() as u32 - 1
        });
        self.scopes.bind_at(name, Binding::Register(index), Self::MODULE_DEPTH);
        self.register_of_single(index).map(Some)
    }

    /// A new register row of the function.
    pub(super) fn new_vreg(
        &mut self,
        ty: PackedType,
        flags: VRegFlags,
        name: VRegName,
    ) -> Result<VRegId, Diagnostic> {
        let id = self.out.vreg_heads.len() - self.first.vreg;
        if id > OPERAND_ID_MAX {
            return Err(Diagnostic::new(self.cursor.pos, 1, Problem::TooMany("registers")));
        }
        self.out.vreg_heads.push(VRegHead::new(ty, flags));
        self.out.vreg_names.push(name);
        Ok(VRegId::new(id))
    }

    /// The declarations after `.reg`, up to and with the semicolon.
    pub(super) fn registers(&mut self) -> Result<(), Diagnostic> {
        let mut cursor = self.cursor;
        cursor.registers(|declarator| match declarator.count {
            Some(count) => self.declare_range(declarator, count),
            None => self.declare_single(declarator, VRegFlags::empty()),
        })?;
        self.cursor = cursor;
        Ok(())
    }

    /// The error that this scope has declared what the name at `first..end` spells.
    #[cold]
    pub(super) fn duplicate(&self, first: usize, end: usize) -> Diagnostic {
        let name = shown_name(&self.cursor.text[first..end]);
        Diagnostic::new(first, end - first, Problem::DuplicateName(name))
    }

    /// Declares the register with the whole name of `declarator`.
    pub(super) fn declare_single(
        &mut self,
        declarator: RegisterDeclarator,
        flags: VRegFlags,
    ) -> Result<(), Diagnostic> {
        let RegisterDeclarator { first, end, ty, .. } = declarator;
        let text = self.cursor.text;
        let name = self.out.pools.names.intern(text, first, end);
        if self.scopes.is_bound_here(name) || self.is_in_range_here(&text[first..end]) {
            return Err(self.duplicate(first, end));
        }
        self.note_numbered(name, first, end);
        let needs_rename = self.must_rename_value(name, &text[first..end]);
        // A formal shadows a register of the module, and stands in the header, which is copied.
        let written = if needs_rename && !flags.contains(VRegFlags::FORMAL) {
            let (prefix, number) = self.fresh_numbers(name, ty, 1);
            VRegName { prefix, number }
        } else {
            self.note_single(first, end);
            VRegName { prefix: name, number: VRegName::WHOLE }
        };
        let index = self.scopes.singles.len() as u32;
        self.scopes.singles.push(Single { name: written, ty, flags, vreg: Maybe::NONE });
        self.scopes.bind(name, Binding::Register(index));
        Ok(())
    }
}
