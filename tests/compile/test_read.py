"""What is read out of SASS: text as nvdisasm -c prints it."""

from __future__ import annotations

from tlxgen.compile.read import anonymous, loops, sass

# Tiles around K tiles, a wait that is tried again outside of both, one instruction that is tried again in place, and a
# second task behind an EXIT.
SASS = """
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_0:
        /*0010*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2 ;
        /*0020*/              @!P0 BRA `(.L_x_5) ;
.L_x_1:
        /*0030*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR5], R3 ;
        /*0040*/              @!P1 BRA `(.L_x_6) ;
.L_x_2:
        /*0050*/                   UTCHMMA gdesc[UR16], gdesc[UR18], tmem[UR14], tmem[UR8], idesc[UR9], UPT ;
.L_x_3:
        /*0060*/               @P0 BRA.U.ANY `(.L_x_3) ;
        /*0070*/                   BRA.U UP0, `(.L_x_1) ;
        /*0080*/               @P0 BRA `(.L_x_0) ;
        /*0090*/                   EXIT ;
.L_x_4:
        /*00a0*/              @UP1 UTMALDG.2D [UR16], [UR12], desc[UR14] ;
        /*00b0*/               @P2 BRA `(.L_x_4) ;
        /*00c0*/                   EXIT ;
.L_x_5:
        /*00d0*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2 ;
        /*00e0*/              @!P0 BRA `(.L_x_5) ;
        /*00f0*/                   BRA `(.L_x_1) ;
.L_x_6:
        /*0100*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR5], R3 ;
        /*0110*/              @!P1 BRA `(.L_x_6) ;
        /*0120*/                   BRA `(.L_x_2) ;
"""


def test_innermost_loops_without_what_was_moved_out_of_them() -> None:
    assert loops(SASS) == (
        {"UTCHMMA": 1, "SYNCS": 1, "total": 5},
        {"UTMALDG": 1, "total": 2},
        {"SYNCS": 1, "total": 2},
        {"SYNCS": 1, "total": 2},
    )


def test_instructions_are_counted_whole_and_predicated() -> None:
    counts, digest = sass(SASS)
    assert counts == {"UTCHMMA": 1, "UTMALDG": 1, "SYNCS": 4, "total": 19}
    assert digest == sass(SASS.replace("/*00", "/*10"))[1], "addresses do not matter"
    assert digest != sass(SASS.replace("UR16", "UR17"))[1]


PTX = """
\t// .globl	{0}               // -- Begin function {0}
.visible .entry {0}(
    .param .u64 .ptr .global .align 1 {0}_param_0,
    .param .u32 {0}_param_12
)
.maxnreg 168
{{
    .reg .b32 %r<4>;
    ld.param.b64 %rd1, [{0}_param_0];
    ld.param.b32 %r1, [{0}_param_12];
    mov.b32 %r2, global_smem;
$L__BB0_1:
    add.s32 %r3, %r1, 1;
}}
"""


def test_ptx_without_the_name_of_its_kernel() -> None:
    plain = "".join(PTX.partition("\n.")[1:])
    assert anonymous(PTX.format("gemm_kernel")) == anonymous(PTX.format("a_$c")) == "\n" + plain.format("kernel")
    assert anonymous(PTX.format("b32")).count(".reg .b32") == 1  # a name that is also a type's
    assert anonymous("no entry") == "no entry"
