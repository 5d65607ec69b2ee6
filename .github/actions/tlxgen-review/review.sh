#!/usr/bin/env bash
# Reviews a change in CI, with any system or none: makes $OUT/review.html and $OUT/comment.md, then fails if generated
# files are stale or the simulator finds something. It runs in the root of a clone that has the commit $BASE.
#
#   BASE=origin/main OUT=review bash review.sh
set -uo pipefail
base=${BASE:?the revision to compare with, such as origin/main}
out=${OUT:-tlxgen-review}
read -ra specs <<<"${SPECS:-specs}"
mkdir -p "$out"
failed=0

# The page comes first: it is needed most where a check fails.
tlxgen review "$base" HEAD --html "$out/review.html" --markdown >"$out/comment.md" || failed=1

tlxgen build --check "${specs[@]}" >"$out/check.txt" 2>&1
check=$?
if [[ ${VERIFY:-true} == true ]]; then
  tlxgen verify --changed "${specs[@]}" >"$out/verify.txt" 2>&1
  verify=$?
else
  verify=0
fi

{
  echo
  for step in check verify; do
    [[ -f $out/$step.txt ]] || continue
    status=${!step}
    command=$([[ $step == check ]] && echo "build --check" || echo "verify --changed")
    if ((status == 0)); then
      echo "- ✅ \`tlxgen $command\`"
    else
      echo "- ❗ \`tlxgen $command\` ended with $status"
      echo
      echo "<details><summary>what it said</summary>"
      echo
      echo '~~~text'
      tail -n 60 "$out/$step.txt" | cut -c 1-300
      echo '~~~'
      echo
      echo "</details>"
    fi
  done
} >>"$out/comment.md"
[[ -n ${GITHUB_STEP_SUMMARY:-} ]] && cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"
cat "$out/comment.md"
exit $((failed || check || verify))
