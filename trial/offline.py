import os,sys; sys.path.insert(0, os.path.dirname(__file__))
import triton, re
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget
import quant_try as q, subprocess, tempfile
from collections import Counter
ND='/work/main/.venv/lib/python3.11/site-packages/triton/backends/nvidia/bin/nvdisasm'
def comp(fn, consts, warps):
    names=fn.arg_names; sig={}
    for n in names:
        if n in consts: sig[n]='constexpr'
        elif n=='x_desc': sig[n]=f"tensordesc<bf16[{consts['BLOCK_M']},{consts['BLOCK_N']}]>"
        elif n.endswith('_ptr'): sig[n]={'x_ptr':'*bf16','rows_ptr':'*fp8e4nv','columns_ptr':'*fp8e4nv'}.get(n,'*u8')
        else: sig[n]='i32'
    attrs={(i,):[['tt.divisibility',16]] for i,n in enumerate(names) if sig[n]!='constexpr' and n!='x_desc'}
    src=ASTSource(fn, sig, {(names.index(k),):v for k,v in consts.items()}, attrs)
    k=triton.compile(src, target=GPUTarget('cuda',90,32), options={'num_warps':warps,'num_stages':1})
    f=tempfile.NamedTemporaryFile(suffix='.cubin',delete=False); f.write(k.asm['cubin']); f.close()
    out=subprocess.run([ND,'-c',f.name],capture_output=True,text=True).stdout
    ins=re.findall(r'/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\d+ )?([A-Z0-9_.]+)',out)
    c=Counter(i.split('.')[0] for i in ins)
    reg=subprocess.run([ND.replace('nvdisasm','cuobjdump'),'-res-usage',f.name],capture_output=True,text=True).stdout
    r=re.search(r'REG:(\d+) STACK:(\d+) SHARED:(\d+)',reg)
    print(fn.__name__,consts,warps,r.groups() if r else reg,k.metadata.shared,'total',len(ins),c.most_common(14), flush=True)
    print({i:n for i,n in Counter(ins).items() if i.startswith(('STG','LDS','STS','LDSM','BAR'))})
    return k,out
if __name__=='__main__':
    for c,w in (({},4),({'EARLY':True},4),({'BLOCK_N':256},8),({'HIGH':2},8)):
        comp(q.ring6,{'BLOCK_M':32,'BLOCK_N':128,'STAGES':2,'GROUP':1,'HIGH':1,'EARLY':False}|c,w)
