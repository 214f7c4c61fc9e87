# Simulate the order desk with both agents; model_server.py runs this, and says where the models are:
#
#   python model_server.py sh simulate.sh

simulate() { # the agent, the exit status that it should have, and why
  echo "\$ tracewitness simulate simulation.evals.yaml --agent $1"
  tracewitness simulate simulation.evals.yaml --agent "$1" \
    --user-model user --judge-model judge --base-url "$OPENAI_BASE_URL"
  status=$?
  echo "exit status $status ($2: $3)"
  test $status -eq "$2"
}

simulate agents:CarefulDesk 0 "it did what it said" || exit 1
echo
simulate agents:HastyDesk 1 "the judge is content, and no order was placed" || exit 1
